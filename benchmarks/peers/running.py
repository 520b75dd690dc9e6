"""One run: a reducer started on a script, answered until it ends or its time is up, and its result looked at.

Decision: a peer's clock runs from its own start; the start of the warm server behind its test is not charged to it,
while shrinkrepro's start of the same server is charged to us. A result is what the test said yes to; ground truth then
judges it.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from benchmarks import fresh, tokens
from benchmarks.peers.asking import Asking
from benchmarks.peers.clock import processor_seconds
from benchmarks.peers.judging import FRESH_LEAST, Judging
from benchmarks.peers.rows import OURS, Row
from benchmarks.peers.subjects import Subject
from benchmarks.peers.tools import CANDIDATE, Peer, Place

WALL = 10.0  # times its budget of processor seconds, the wall time after which a run is given up
LOOK = 0.5  # seconds between two looks at the processor time, which costs some milliseconds
GRACE = 60.0  # seconds over its budget before shrinkrepro is killed: it confirms its result after it
ROOT = Path(__file__).parents[2]


def machine(core: int | None) -> dict[str, str | int | float]:
    """What the row was made on, with the load at this moment."""
    found: dict[str, str | int | float] = {
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "cpu": _cpu_name(),
        "cores": os.cpu_count() or 0,
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }
    if core is not None:
        found["core"] = core
    return found


def _cpu_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def revision() -> str:
    """The commit of this checkout, with a plus where files differ from it."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run(
        [*git, "diff", "--quiet", "HEAD", "--", "shrinkrepro", "strategies"], capture_output=True, check=False
    )
    return head.stdout.strip() + ("+" if changed.returncode else "")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_peer(
    subject: Subject, peer: Peer, home: Path, mode: str, budget: float, judging: Judging, folder: Path
) -> dict[str, object]:
    """Let a peer reduce the subject in ``folder``; fields of a row."""
    (folder / CANDIDATE).write_text(judging.text, encoding="utf-8")
    with (folder / "output").open("wb") as output:
        asking = Asking(judging, mode, folder, time.monotonic() + WALL * budget)
        place = Place(home, folder, asking.client, asking.path, int(max(FRESH_LEAST * 3, budget)))
        start, used = asking.record.started
        process = subprocess.Popen(
            list(peer.command(place)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            start_new_session=True,
        )
        try:
            looked = start
            while process.poll() is None:
                asking.answer()
                now = time.monotonic()
                if now > looked + LOOK:
                    looked = now
                    if processor_seconds() > used + budget or now > start + WALL * budget:
                        break
            code = process.poll()
            seconds, wall = processor_seconds() - used, time.monotonic() - start
        finally:
            _kill(process)
            asking.close()
    record = asking.record
    ended = "budget" if code is None else "finished" if code == 0 else f"exit {code}: {_last_line(folder / 'output')}"
    return {
        "after": record.tokens,
        "curve": tuple(record.curve),
        "queries": record.queries,
        "run": record.run,
        "seconds": round(seconds, 2),
        "wall": round(wall, 2),
        "ended": ended,
        "source": record.best,
        "version": peer.version_of(home),
    }


def run_ours(subject: Subject, budget: float, folder: Path, python: str) -> dict[str, object]:
    """Let shrinkrepro reduce the subject; fields of a row."""
    used, start = processor_seconds(), time.monotonic()
    argv = [sys.executable, "-m", "benchmarks.peers.ours", subject.name, str(folder), python, str(budget), str(start)]
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    run = fresh.command(argv, budget + GRACE, {"PYTHONPATH": path, "NO_COLOR": "1"})
    written = folder / "ours.json"
    data = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
    ended = {"minimal": "finished"}.get(data.get("ended", ""), data.get("ended") or data.get("error") or run.last_line)
    curve = tuple(tuple(point) for point in data.get("curve", ()))
    queries = data.get("queries", curve[-1][2] if curve else 0)
    return {
        "after": tokens.count(data["source"]) if "source" in data else None,
        "curve": curve,
        "queries": queries,
        "run": queries,
        "seconds": round(processor_seconds() - used, 2),
        "wall": round(run.seconds, 2),
        "ended": "killed" if run.code == fresh.TIMED_OUT else ended,
        "source": data.get("source", ""),
        "version": revision(),
    }


def measured(
    subject: Subject,
    peer: Peer | None,
    home: Path,
    mode: str,
    budget: float,
    judging: Judging,
    folder: Path,
    python: str,
    core: int | None,
) -> Row:
    """One whole row; ``peer`` is None for shrinkrepro."""
    folder.mkdir(parents=True)
    conditions = machine(core)
    script = folder / "original.py"
    script.write_text(judging.text, encoding="utf-8")
    timing = [_fresh_seconds(subject, folder, python)]
    if peer is None:
        found = run_ours(subject, budget, folder, python)
    else:
        found = run_peer(subject, peer, home, mode, budget, judging, folder)
    timing.append(_fresh_seconds(subject, folder, python))
    if found["source"]:
        result = folder / "result.py"
        result.write_text(str(found["source"]), encoding="utf-8")
        found["truth"], found["why"] = subject.truth(result, python)
    return Row(
        subject=subject.name,
        kind=subject.kind,
        peer=peer.name if peer is not None else OURS,
        mode=mode,
        budget=budget,
        before=tokens.count(judging.text),
        by_hand=_by_hand(subject),
        fresh=tuple(round(seconds, 2) for seconds in timing),
        torch=judging.torch,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=conditions,
        **found,  # type: ignore[arg-type]
    )


def _fresh_seconds(subject: Subject, folder: Path, python: str) -> float:
    used = processor_seconds()
    fresh.script(python, subject.script(folder), 600.0)
    return processor_seconds() - used


def _by_hand(subject: Subject) -> int | None:
    return None if subject.case is None else tokens.count(subject.case.by_hand.read_text(encoding="utf-8"))


def _last_line(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1][:200] if lines else ""


def line(row: Row) -> str:
    """A row as text."""
    after = "-" if row.after is None else str(row.after)
    return (
        f"{row.subject[:38]:38} {row.peer:17} {row.mode:6} {row.before:5} -> {after:>5} tokens {row.queries:6} queries "
        f"{row.seconds:6.1f} s ({row.wall:6.1f} wall)  {row.truth or '-':7} {row.ended}"
    )

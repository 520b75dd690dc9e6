"""``python -m benchmarks.kill_test``: one reduction killed with SIGKILL at random moments and resumed each time.

Decision: the whole command is killed as a user's machine would, at moments drawn over the time that an unbroken run
takes, its start and its end among them. After each kill what is on the disk must be whole; a run that comes to its end
must give the unbroken run's text, byte for byte, and is then begun anew until all kills were made. A query that had
begun and that the journal does not have is made again by the next run: there may be one for each worker, and the
command notes both moments of each query in a file to be counted by.
"""

from __future__ import annotations

import ast
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from shrinkrepro.cli.main import app
from shrinkrepro.protocol import Execution
from shrinkrepro.session.journal import Journal
from shrinkrepro.workers.memory import Ticket
from shrinkrepro.workers.server import Server

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "pinn" / "poisson.py"
NOTES = "notes"  # the file's name
REDUCE = "reduce-with-notes"  # as the first argument: what this module then does in the killed process


def noted(log: int) -> None:
    """Write to the descriptor ``log`` a ``b`` for each query that begins and a ``k`` for each that is kept."""
    receive, keep = Server._receive, Journal.keep

    def received(server: Server, seconds: float) -> dict[str, Any]:
        message = receive(server, seconds)
        if "begin" in message:
            os.write(log, b"b")
        return message

    def kept(journal: Journal, ticket: Ticket, answer: Any) -> None:
        keep(journal, ticket, answer)
        if isinstance(answer, Execution):
            os.write(log, b"k")

    setattr(Server, "_receive", received)  # noqa: B010  (mypy)
    setattr(Journal, "keep", kept)  # noqa: B010


def start(script: Path, out: Path) -> subprocess.Popen[bytes]:
    """Start the reduction, its journal and its notes in the folder of ``out``."""
    command = [sys.executable, "-m", "benchmarks.kill_test", REDUCE, str(out.parent / NOTES)]
    options = ["--jobs", "1", "--quiet", "--force", "--budget", "1h"]
    return subprocess.Popen(
        [*command, str(script), "-o", str(out), *options],
        env={**os.environ, "XDG_CACHE_HOME": str(out.parent / "cache")},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def under_way(folder: Path) -> int:
    """Queries that had begun when the run was killed and that its journal does not have; ends its notes."""
    notes = folder / NOTES
    text = notes.read_bytes() if notes.exists() else b""
    notes.unlink(missing_ok=True)
    return text.count(b"b") - text.count(b"k")


def whole(folder: Path) -> str:
    """What is wrong with a file that a killed run left; empty when all are whole."""
    for path in folder.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        try:
            ast.parse(text)
        except SyntaxError as error:
            return f"{path.name} is torn: {error}"
        if not text.strip():
            return f"{path.name} is empty"
    return ""


def kill_test(
    script: Annotated[Path, typer.Argument(help="The script to reduce.")] = EXAMPLE,
    kills: Annotated[int, typer.Option(help="How often it is killed.")] = 50,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 0,
) -> None:
    """Kill one reduction again and again, and compare its end with that of a run that was left alone."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "alone").mkdir()
        (folder / "killed").mkdir()
        begun = time.monotonic()
        if start(script, folder / "alone" / "out.py").wait() != 0:
            raise typer.Exit(1)
        seconds = time.monotonic() - begun
        want = (folder / "alone" / "out.py").read_bytes()
        print(f"unbroken: {seconds:.0f} s, {len(want)} bytes", flush=True)
        out = folder / "killed" / "out.py"
        done = ends = 0
        again: list[int] = []  # for each kill, queries that the next run makes again
        while done < kills or not ends:
            process = start(script, out)
            try:
                process.wait(moments.uniform(0, seconds) if done < kills else None)
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                done += 1
                again.append(under_way(out.parent))
            else:
                under_way(out.parent)
                if process.returncode != 0 or out.read_bytes() != want:
                    print(f"after {done} kills: exit {process.returncode}, another end:\n{out.read_text()}")
                    raise typer.Exit(1)
                ends += 1
            torn = whole(folder / "killed")
            if torn:
                print(f"after {done} kills: {torn}")
                raise typer.Exit(1)
            if process.returncode == 0:
                out.unlink()
        print(f"{done} kills, {ends} ends: each with the unbroken run's text, and no torn file")
        print(f"{sum(again)} queries made again, {max(again, default=0)} after one kill at most")
        if max(again, default=0) > 1:
            raise typer.Exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == [REDUCE]:
        noted(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        app(["reduce", *sys.argv[3:]])
    else:
        typer.run(kill_test)

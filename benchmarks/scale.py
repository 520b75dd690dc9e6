"""``make scale``: what a script costs on a Ray worker, measured here, and docs/scale.md from it.

Decision: the page is made from the rows of one file of measurements and a simulation that takes its durations from
them, so that it can be made again without measuring again, and nothing on it was typed.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import growth_scripts, index
from benchmarks.bench import ROOT, seconds
from benchmarks.recording import record
from benchmarks.scale_page import page
from benchmarks.scale_worker import TALKER
from shrinkrepro import api
from shrinkrepro.tasks.batch_worker import CHECK, REDUCE, WORKER
from shrinkrepro.workers.executor import ACCEPTED, ENDS, STARTED, Work
from shrinkrepro.workers.ray import RayExecutor

LEAST_GAIN = 1.7  # scripts per minute of two workers, for one of one worker
PAGE = ROOT / "docs" / "scale.md"
TALK = 2000  # events by which the driver's cost of one is measured
LOOKUPS = 1000  # of a dictionary in an actor, one after the other
CRITICAL = ("exception", "mismatch-assert")  # kinds of cases: a crash takes what it takes


@dataclass
class Timed:
    """One work as the driver saw it. Times in seconds, sizes in bytes of JSON."""

    name: str
    kind: str
    begun: float = 0.0  # since the executor was entered
    ended: float = 0.0
    sent: int = 0
    heard: int = 0
    events: int = 0
    steps: int = 0
    ending: str = ""  # of a reduction "minimal" or "budget"; else the event that ended it
    text: str = ""

    @property
    def seconds(self) -> float:
        """Of its worker."""
        return self.ended - self.begun


@dataclass
class Run:
    """All works of one run. ``driver``: seconds of its processor; ``load``: the machine's, a mean of five minutes."""

    workers: int
    start: float
    seconds: float
    driver: float
    load: float
    works: list[Timed] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Scripts per minute, the start of the workers left out."""
        return 60.0 * sum(work.kind == REDUCE for work in self.works) / self.seconds


class Phases(api.Silent):
    """Seconds of each phase of a reduction."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._now, self._since = "", time.monotonic()

    def phase(self, text: str) -> None:
        """Close the last, begin another."""
        now = time.monotonic()
        if self._now:
            self.seconds[self._now] = self.seconds.get(self._now, 0.0) + now - self._since
        self._now, self._since = text, now


def run(scripts: Sequence[Path], workers: int, budget: float) -> Run:
    """Check and reduce ``scripts`` on a cluster of this machine with ``workers`` workers, with no journals."""
    entered = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="scale-") as cache:
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = cache  # nothing is taken from an earlier run
        try:
            with RayExecutor(WORKER, address="local", workers=workers) as executor:
                found = Run(workers, time.monotonic() - entered, 0.0, 0.0, 0.0)
                used, begun = time.process_time(), time.monotonic()
                for kind in (CHECK, REDUCE):  # a stage ends with its last work, as in a batch
                    found.works += _stage(executor, kind, scripts, budget, begun)
                found.seconds, found.driver = time.monotonic() - begun, time.process_time() - used
                found.load = os.getloadavg()[1]
        finally:
            if before is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = before
    return found


def _stage(executor: RayExecutor, kind: str, scripts: Sequence[Path], budget: float, begun: float) -> list[Timed]:
    timed: dict[str, Timed] = {}
    for script in scripts:
        options = {"budget": budget, "jobs": 1}
        sources = {script.name: script.read_text(encoding="utf-8")}
        work = Work(f"{kind} {script.stem}", kind, script.name, sources, str(script.parent), options)
        timed[work.name] = Timed(script.stem, kind, sent=_size(work.to_wire()))
        executor.submit(work)
    for event in executor.events():
        if event.work not in timed:
            continue
        row = timed[event.work]
        row.heard += _size(event.to_wire())
        row.events += 1
        row.steps += event.kind == ACCEPTED
        if event.kind == STARTED:
            row.begun = time.monotonic() - begun
        if event.kind in ENDS:
            row.ended, row.ending = time.monotonic() - begun, str(event.data.get("ended", event.kind))
            row.text = str(event.data.get("text", ""))
            print(f"{row.ended:7.1f} s  {row.ending:9}  {event.work}", flush=True)
    return list(timed.values())


def _size(message: Any) -> int:
    return len(json.dumps(message).encode())


def talk() -> dict[str, float]:
    """What an event and a question to an actor cost, in seconds."""
    text = "x" * 2000  # a program on its way down
    with RayExecutor(TALKER, address="local", workers=1) as executor:
        executor.submit(Work("talk", "talk", "x", {"x": text}, options={"events": TALK}))
        used, begun = time.process_time(), time.monotonic()
        heard = sum(1 for _ in executor.events())
        event, wall = (time.process_time() - used) / heard, (time.monotonic() - begun) / heard
        ray: Any = importlib.import_module("ray")

        class Kept:
            """The executions that all workers share, as an actor of the head would hold them."""

            def __init__(self) -> None:
                self._answers: dict[str, str] = {}

            def recall(self, digest: str) -> str | None:
                return self._answers.get(digest)

            def used(self) -> float:
                return time.process_time()

        kept = ray.remote(Kept).options(num_cpus=0).remote()
        first = ray.get(kept.used.remote())
        begun = time.monotonic()
        for number in range(LOOKUPS):
            ray.get(kept.recall.remote(f"{number:064}"))
        lookup = (time.monotonic() - begun) / LOOKUPS
        return {"event": event, "event_wall": wall, "lookup": lookup,
                "lookup_cpu": (ray.get(kept.used.remote()) - first) / LOOKUPS}  # fmt: skip


def shared(folder: Path, budget: float) -> dict[str, Any]:
    """Which share of one script's queries another had asked: of the same bug, and of another; and times of phases."""
    asked: list[set[str]] = []
    phases: list[dict[str, float]] = []
    queries = 0
    for failure, seed in (("item", 0), ("item", 1), ("mismatch", 0)):
        path = folder / f"{failure}{seed}.py"
        path.write_text(growth_scripts.make(failure, 100, seed).source, encoding="utf-8")
        timer = Phases()
        recording, _ = record(path, budget, timer)
        timer.phase("")
        asked.append({job.source for job in recording.jobs})
        phases.append(timer.seconds)
        queries += len(recording.jobs)
    return {
        "same": len(asked[1] & asked[0]) / len(asked[1]),
        "other": len(asked[2] & asked[0]) / len(asked[2]),
        "queries": queries / len(asked),
        "phases": phases,
    }


def measured(rows: Path, scripts: Sequence[Path], budget: float, turns: Sequence[int]) -> dict[str, Any]:
    """The measurements, from the file ``rows`` as far as it has them; what is new is written there part by part."""
    data: dict[str, Any] = json.loads(rows.read_text(encoding="utf-8")) if rows.exists() else {}
    rows.parent.mkdir(parents=True, exist_ok=True)

    def keep(name: str, value: Any) -> None:
        data[name] = value
        rows.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    if "machine" not in data:
        keep("machine", {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()})
        keep("date", time.strftime("%Y-%m-%d"))
        keep("budget", budget)
    if "talk" not in data:
        keep("talk", talk())
    if "shared" not in data:
        with tempfile.TemporaryDirectory(prefix="scale-") as folder:
            keep("shared", shared(Path(folder), budget))
    for workers in turns[len(data.get("runs", ())) :]:
        found = run(scripts, workers, budget)
        print(f"{workers} workers: {found.rate:.2f} scripts a minute, load {found.load:.1f}", flush=True)
        keep("runs", [*data.get("runs", ()), {**asdict(found), "rate": found.rate}])
    return {**data, "gain": gain(data["runs"]), "differing": differing(data["runs"])}


def sample(count: int, seed: int) -> list[Path]:
    """Scripts of cases, drawn by seed."""
    able = [case for case in index.load() if not case.args and len(case.sources) == 1 and case.kind in CRITICAL]
    return [case.script for case in random.Random(f"scale {seed}").sample(able, min(count, len(able)))]


def gain(runs: Sequence[dict[str, Any]]) -> float:
    """Scripts per minute of two workers, for one of one worker, over all runs of each; 0 where one is missing."""
    one, two = ([run["rate"] for run in runs if run["workers"] == workers] for workers in (1, 2))
    return statistics.mean(two) / statistics.mean(one) if one and two else 0.0


def differing(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Scripts whose results differ between runs; one that the budget ended has the text of some moment."""
    texts: dict[str, set[str]] = {}
    for timed in (work for run in runs for work in run["works"] if work["ending"] == "minimal"):
        texts.setdefault(timed["name"], set()).add(timed["text"])
    return sorted(name for name, found in texts.items() if len(found) > 1)


def main(
    scripts: Annotated[int, typer.Option(help="Scripts of cases, drawn by seed.")] = 8,
    seed: Annotated[int, typer.Option(help="What they are drawn from.")] = 0,
    budget: Annotated[str, typer.Option(help="Budget of one reduction.")] = "2m",
    turns: Annotated[str, typer.Option(help="Workers of each run, in this order.")] = "1,2,2,1",
    rows: Annotated[Path, typer.Option(help="The measurements; with one there is only the page to make.")] = Path(
        "build/scale.json"
    ),
    again: Annotated[bool, typer.Option("--again", help="Measure, whatever is there.")] = False,
) -> None:
    """Measure, simulate, write docs/scale.md. Exits 1 if two workers do not do 1.7 times one worker's scripts."""
    if again:
        rows.unlink(missing_ok=True)
    try:
        data = measured(rows, sample(scripts, seed), seconds(budget), [int(count) for count in turns.split(",")])
    except ValueError as error:
        typer.echo(f"scale: {error}", err=True)
        raise typer.Exit(2) from error
    PAGE.write_text(page(data), encoding="utf-8")
    print(f"two workers: {data['gain']:.2f} times one; results that differ: {', '.join(data['differing']) or 'none'}")
    raise typer.Exit(0 if data["gain"] >= LEAST_GAIN and not data["differing"] else 1)


if __name__ == "__main__":
    typer.run(main)

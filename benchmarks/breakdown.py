"""``make bench-breakdown``: where the time of a query goes, beside the limit that nothing could go below.

The candidates of a reduction are recorded and run again: bare (``bare``), one per fork and in batches. What the target
takes beyond the bare run is the harness; what this process takes is split by a sampling profiler (py-spy), where there
is one, over a whole reduction.

Decision: processor seconds, not wall time, because everything here runs one thing at a time on one core, and the
machine may be shared; the ways are run in turn, and the median of the turns counts.
"""

from __future__ import annotations

import dataclasses
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import recording
from benchmarks.peers.clock import used
from benchmarks.peers.running import revision
from benchmarks.throughput import BATCH, SCRIPT, TIMEOUT, bind_to_one_core
from shrinkrepro.protocol import Job
from shrinkrepro.target.server import PRELOADS
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

BARE = Path(__file__).with_name("bare.py")
MEASURED = Path(__file__).with_name("breakdown.jsonl")
GOAL = 1.5  # times the limit
AT_LEAST = 200  # runs; a shorter stream is run over and over
RATE = 200  # samples a second
PHASES = {  # where the innermost frame of ours stands, by the beginning of its file
    "judge": ("shrinkrepro/oracles", "shrinkrepro/session", "shrinkrepro/core/verdict", "shrinkrepro/core/tracebacks"),
    "static filter": ("shrinkrepro/core/static", "shrinkrepro/core/scopes", "shrinkrepro/core/module_"),
    "render": ("shrinkrepro/core/apply", "shrinkrepro/core/program", "shrinkrepro/report/layout"),
    "search": ("shrinkrepro/core",),
    "strategies": ("shrinkrepro_strategies",),
    "wire and workers": ("shrinkrepro/workers", "shrinkrepro/protocol"),
    "start, report": ("shrinkrepro/",),
}
ELSEWHERE = "imports, interpreter"


@dataclass(frozen=True)
class Breakdown:
    """Processor milliseconds a query, one per fork and in batches, by phase; and the host's over a whole reduction."""

    date: str
    revision: str
    script: str
    runs: int
    alone: Mapping[str, float]
    batch: Mapping[str, float]
    host: Mapping[str, float]

    def ratio(self, alone: bool) -> float:
        """Times the limit, without confinement."""
        phases = self.alone if alone else self.batch
        return (phases["child"] + phases["server"] + phases["host"]) / phases["limit"]


def load(path: Path = MEASURED) -> list[Breakdown]:
    """What was measured so far, oldest first."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Breakdown(**json.loads(line)) for line in lines]


def bare(target: Target, sources: Sequence[str], mode: str) -> dict[str, float]:
    """Milliseconds a candidate: ``compile``, ``run``, ``fork`` and ``limit``, their sum; ``mode`` is fork or loop."""
    with tempfile.TemporaryDirectory() as folder:
        order = Path(folder) / "order.json"
        modules = [*PRELOADS, *target.modules]
        order.write_text(json.dumps({"modules": modules, "sources": list(sources), "mode": mode}))
        argv = [target.python, str(BARE), str(order)]
        env = {**target.environment(), "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=folder, env=env)
    told = {name: 1000 * seconds / len(sources) for name, seconds in json.loads(done.stdout).items()}
    fork = told["all"] - told["compile"] - told["run"]
    return {"fork": fork, "compile": told["compile"], "run": told["run"], "limit": told["all"]}


def _own_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def pooled(target: Target, jobs: Sequence[Job]) -> dict[str, float]:
    """Milliseconds a candidate on a warm pool: of the ``child`` that runs it, the ``server``, and this ``host``."""
    with Pool(target, jobs=1) as pool:
        pool.run(jobs[:1])
        own, before = _own_seconds(), used()
        for at in range(0, len(jobs), BATCH):
            pool.run(jobs[at : at + BATCH])
        own, after = _own_seconds() - own, used()
    each = 1000 / len(jobs)
    server = after.running - before.running - own
    return {"child": (after.ended - before.ended) * each, "server": server * each, "host": own * each}


def measured(target: Target, sources: Sequence[str], alone: bool) -> dict[str, float]:
    """One turn: the limit, the same without confinement, and what confinement adds."""
    jobs = [Job(source, timeout=TIMEOUT, alone=alone) for source in sources]
    found = bare(target, sources, "fork" if alone else "loop")
    free, confined = pooled(replace(target, sandbox=False), jobs), pooled(target, jobs)
    return {**found, **free, "confinement": sum(confined.values()) - sum(free.values())}


def phase_of(stack: str) -> str:
    """The phase of one sample, whose frames are joined by semicolons, the innermost last."""
    for frame in reversed(stack.split(";")):
        for phase, places in PHASES.items():
            if any(f"({place}" in frame or f"/{place}" in frame for place in places):
                return phase
    return ELSEWHERE


def profiled(script: Path, folder: Path, flames: Path | None) -> dict[str, float]:
    """Milliseconds a query of the host by phase, over a whole reduction; empty without a profiler.

    ``flames``: a file for the flame graph, of a reduction of its own.
    """
    program = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")
    if program is None:
        return {}
    found, out, report = folder / "stacks", folder / "reduced.py", folder / "report.json"

    def record(options: Sequence[str]) -> None:
        reduce = [sys.executable, "-m", "shrinkrepro", "reduce", str(script), "--jobs", "1", "-o", str(out), "--force"]
        reduce += ["--fresh", "--quiet", "--json", str(report)]
        argv = [program, "record", "--gil", "--rate", str(RATE), *options, "--", *reduce]
        subprocess.run(argv, capture_output=True, check=True)

    record(["--format", "raw", "--output", str(found)])
    queries = json.loads(report.read_text(encoding="utf-8"))["counts"]["run"]
    samples: Counter[str] = Counter()
    for line in found.read_text(encoding="utf-8").splitlines():
        stack, _, count = line.rpartition(" ")
        samples[phase_of(stack)] += int(count)
    if flames is not None:
        record(["--format", "flamegraph", "--output", str(flames)])
    return {phase: round(1000 * count / RATE / queries, 3) for phase, count in samples.most_common()}


def table(found: Breakdown) -> str:
    """The phases as Markdown, the limit first."""
    words = {
        "fork": "a fork and its end",
        "compile": "compile",
        "run": "run",
        "limit": "**the limit**",
        "child": "the child that runs it",
        "server": "its server",
        "host": "this side of the wire",
        "confinement": "confinement, on top",
    }
    lines = ["| processor ms a query | one per fork | in batches |", "| --- | --: | --: |"]
    lines += [f"| {text} | {found.alone[name]:.2f} | {found.batch[name]:.2f} |" for name, text in words.items()]
    lines.append(f"| **times the limit** | {found.ratio(True):.2f} | {found.ratio(False):.2f} |")
    return "\n".join(lines)


def main(
    script: Annotated[Path, typer.Argument(help="The script whose reduction is looked at.")] = SCRIPT,
    turns: Annotated[int, typer.Option(help="Turns of which the median counts.")] = 3,
    flames: Annotated[Path | None, typer.Option(help="Write a flame graph of this process there.")] = None,
    to: Annotated[Path, typer.Option(help="Add what was found to this file.")] = MEASURED,
) -> None:
    """Print milliseconds a query by phase, and the ratio to the limit. Exits 1 where that is above 1.5."""
    where = bind_to_one_core()
    recorded, _ = recording.record(script)
    target = recorded.target
    assert target is not None
    sources = list(dict.fromkeys(job.source for job in recorded.jobs))
    stream = sources * max(1, -(-AT_LEAST // len(sources)))
    print(f"{script.name}: {len(sources)} candidates, {len(stream)} runs a turn; {where}", flush=True)
    taken = [(measured(target, stream, True), measured(target, stream, False)) for _ in range(turns)]
    alone, batch = ({name: round(statistics.median(turn[name] for turn in side), 3) for name in side[0]}
                    for side in zip(*taken))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        host = profiled(script.absolute(), Path(folder), flames)
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    found = Breakdown(date, revision(), script.name, len(stream), alone, batch, host)
    print(table(found))
    print("\n".join(f"host, {phase}: {value:.2f} ms a query" for phase, value in host.items()) or "no py-spy here")
    with to.open("a", encoding="utf-8") as file:
        file.write(json.dumps(dataclasses.asdict(found)) + "\n")
    raise typer.Exit(0 if max(found.ratio(True), found.ratio(False)) <= GOAL else 1)


if __name__ == "__main__":
    typer.run(main)

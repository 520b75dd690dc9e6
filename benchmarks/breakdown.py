"""``make bench-breakdown``: where the time of a query goes, beside the limit that nothing could go below.

The candidates of a reduction are recorded and run again: bare (``bare``), one per fork and in batches. What the target
takes beyond the bare run is the harness; what this process takes is split by a sampling profiler (py-spy), where there
is one, over a whole reduction.

Decision: processor seconds, not wall time, because everything here runs one thing at a time on one core, and the
machine may be shared.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import recording
from benchmarks.peers.clock import processor_seconds
from benchmarks.throughput import BATCH, SCRIPT, TIMEOUT, bind_to_one_core
from shrinkrepro.protocol import Job
from shrinkrepro.target.server import PRELOADS
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

BARE = Path(__file__).with_name("bare.py")
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


def bare(target: Target, sources: Sequence[str], mode: str) -> dict[str, float]:
    """Processor seconds a candidate by phase: ``compile``, ``run``, ``all`` and ``wall``; ``mode`` is fork or loop."""
    with tempfile.TemporaryDirectory() as folder:
        order = Path(folder) / "order.json"
        order.write_text(json.dumps({"modules": [*PRELOADS, *target.modules], "sources": list(sources), "mode": mode}))
        argv = [target.python, str(BARE), str(order)]
        env = {**target.environment(), "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=folder, env=env)
    return {name: seconds / len(sources) for name, seconds in json.loads(done.stdout).items()}


def _own_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def pooled(target: Target, jobs: Sequence[Job]) -> tuple[float, float]:
    """Processor seconds a candidate on a warm pool: of the target, and of this process."""
    with Pool(target, jobs=1) as pool:
        pool.run(jobs[:1])
        own, everything = _own_seconds(), processor_seconds()
        for at in range(0, len(jobs), BATCH):
            pool.run(jobs[at : at + BATCH])
        own, everything = _own_seconds() - own, processor_seconds() - everything
    return (everything - own) / len(jobs), own / len(jobs)


def phase_of(stack: str) -> str:
    """The phase of one sample, whose frames are joined by semicolons, the innermost last."""
    for frame in reversed(stack.split(";")):
        for phase, places in PHASES.items():
            if any(f"({place}" in frame or f"/{place}" in frame for place in places):
                return phase
    return ELSEWHERE


def profiled(script: Path, folder: Path, flames: Path | None) -> tuple[dict[str, float], int] | None:
    """Milliseconds a query of the host by phase, over a whole reduction, and its queries; None without a profiler.

    ``flames``: a file for the flame graph, of a reduction of its own.
    """
    program = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")
    if program is None:
        return None
    found = folder / "stacks"
    out, report = folder / "reduced.py", folder / "report.json"

    def record(options: Sequence[str]) -> None:
        reduce = [sys.executable, "-m", "shrinkrepro", "reduce", str(script), "--jobs", "1", "-o", str(out), "--force"]
        reduce += ["--fresh", "--quiet", "--json", str(report)]
        argv = [program, "record", "--rate", str(RATE), *options, "--", *reduce]
        subprocess.run(argv, capture_output=True, check=True)

    record(["--format", "raw", "--output", str(found)])
    queries = json.loads(report.read_text(encoding="utf-8"))["counts"]["run"]
    samples: Counter[str] = Counter()
    for line in found.read_text(encoding="utf-8").splitlines():
        stack, _, count = line.rpartition(" ")
        samples[phase_of(stack)] += int(count)
    if flames is not None:
        record(["--format", "flamegraph", "--output", str(flames)])
    return {phase: 1000 * count / RATE / queries for phase, count in samples.most_common()}, queries


def main(
    script: Annotated[Path, typer.Argument(help="The script whose reduction is looked at.")] = SCRIPT,
    candidates: Annotated[int, typer.Option(help="How many candidates to run again; 0: all.")] = 0,
    flames: Annotated[Path | None, typer.Option(help="Write a flame graph of this process there.")] = None,
) -> None:
    """Print milliseconds a query by phase, and the ratio to the limit. Exits 1 where that is above 1.5."""
    where = bind_to_one_core()
    recorded, _ = recording.record(script)
    target = recorded.target
    assert target is not None
    sources = list(dict.fromkeys(job.source for job in recorded.jobs))[: candidates or None]
    stream = sources * max(1, -(-AT_LEAST // len(sources)))
    jobs = [Job(source, timeout=TIMEOUT) for source in stream]
    lines = len(script.read_text(encoding="utf-8").splitlines())
    print(f"{script.name}, {lines} lines, {len(sources)} candidates, {len(stream)} runs; {where}")
    print(f"{'processor ms a query':34} {'one per fork':>13} {'in batches':>13}", flush=True)
    limits = [bare(target, stream, mode) for mode in ("fork", "loop")]
    forks = [limit["all"] - limit["compile"] - limit["run"] for limit in limits]
    shown = {
        "fork and exit": forks,
        "compile": [limit["compile"] for limit in limits],
        "run": [limit["run"] for limit in limits],
        "the limit": [limit["all"] for limit in limits],
    }
    free = replace(target, sandbox=False)
    confined, open_ = ([pooled(t, [replace(job, alone=alone) for job in jobs]) for alone in (True, False)]
                       for t in (target, free))  # fmt: skip
    shown |= {
        "harness in the target": [theirs - limit["all"] for (theirs, _), limit in zip(open_, limits)],
        "confinement": [theirs - without for (theirs, _), (without, _) in zip(confined, open_)],
        "wire and pool of the host": [own for _, own in confined],
    }
    for name, values in shown.items():
        print(f"{name:34} {1000 * values[0]:13.2f} {1000 * values[1]:13.2f}", flush=True)
    ratios = [sum(pair) / limit["all"] for pair, limit in zip(open_, limits)]
    print(f"{'times the limit, unconfined':34} {ratios[0]:13.2f} {ratios[1]:13.2f}   goal {GOAL}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        found = profiled(script.absolute(), Path(folder), flames)
    if found is None:
        print("no py-spy here, so the host is not split: pip install py-spy")
    else:
        phases, queries = found
        print(f"\nhost, over a whole reduction of {queries} queries, sampled {RATE} times a second:")
        for name, value in phases.items():
            print(f"{name:34} {value:13.2f}")
    raise typer.Exit(0 if max(ratios) <= GOAL else 1)


if __name__ == "__main__":
    typer.run(main)

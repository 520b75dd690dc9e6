"""``python -m benchmarks.throughput``: candidates per second on one core, three ways side by side.

A reduction of a 50-line vmap script is recorded, and its candidates are run again: a fresh interpreter
each (a sample), one per fork, and in batches. Everything is bound to one core.
"""

from __future__ import annotations

import os
import random
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import recording
from shrinkrepro.protocol import Job
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

SCRIPT = Path(__file__).parent / "scripts" / "per_sample_clipping.py"
FORK_GOAL, BATCH_GOAL = 30.0, 150.0  # times the rate of fresh interpreters
AT_LEAST = 300  # candidates to time; a shorter stream is replayed over and over, the pool keeps no verdicts
TIMEOUT = 60.0  # seconds a candidate; those of the recording were measured for forks
BATCH = 50  # candidates that the pool is given at a time: a pass hands over chunks, not the whole stream


def bind_to_one_core() -> str:
    """Keep this process and its children on one core, where the system can; the core's name."""
    if not hasattr(os, "sched_setaffinity"):
        return "not bound: this system has no affinity"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"core {core}"


@dataclass(frozen=True)
class Rate:
    """Candidates per second of wall time, and per second of processor time of all processes together."""

    wall: float
    cpu: float


def _cpu_seconds() -> float:
    ours = resource.getrusage(resource.RUSAGE_SELF)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ours.ru_utime + ours.ru_stime + ended.ru_utime + ended.ru_stime


def rate_fresh(target: Target, jobs: Sequence[Job]) -> Rate:
    """A fresh interpreter for each."""
    cpu, start = _cpu_seconds(), time.perf_counter()
    for job in jobs:
        run_fresh(target, job.source, TIMEOUT)
    return Rate(len(jobs) / (time.perf_counter() - start), len(jobs) / (_cpu_seconds() - cpu))


def _run_in_pool(target: Target, jobs: Sequence[Job]) -> tuple[float, float]:
    """Wall seconds of the jobs but the first on a running pool, and processor seconds of everything."""
    cpu = _cpu_seconds()
    with Pool(target, jobs=1) as pool:
        pool.run(jobs[:1])
        start = time.perf_counter()
        for i in range(1, len(jobs), BATCH):
            pool.run(jobs[i : i + BATCH])
        wall = time.perf_counter() - start
    return wall, _cpu_seconds() - cpu


def rate_pool(target: Target, jobs: Sequence[Job], alone: bool) -> Rate:
    """One per fork or in batches, on a warm pool: its start, measured with one job, is taken off."""
    ready = [replace(job, alone=alone, timeout=TIMEOUT) for job in jobs]
    _, start = _run_in_pool(target, ready[:1])
    wall, cpu = _run_in_pool(target, ready)
    return Rate((len(jobs) - 1) / wall, (len(jobs) - 1) / max(cpu - start, 1e-9))


def main(
    script: Annotated[Path, typer.Argument(help="The script whose reduction is recorded.")] = SCRIPT,
    candidates: Annotated[int, typer.Option(help="How many candidates to replay; 0: all.")] = 0,
    sample: Annotated[int, typer.Option(help="How many of them in fresh interpreters.")] = 10,
) -> None:
    """Record, replay three ways, print the rates and the ratios. Exits 1 where the wall time misses a goal.

    On a machine that is shared the rate per processor second is the one to read.
    """
    where = bind_to_one_core()
    recorded, result = recording.record(script)
    target = recorded.target
    assert target is not None
    jobs = list({job.source: job for job in recorded.jobs}.values())
    if candidates:
        jobs = jobs[:candidates]
    stream = jobs * max(1, -(-AT_LEAST // len(jobs)))
    lines = len(script.read_text(encoding="utf-8").splitlines())
    print(f"{script.name}, {lines} lines: {result.tokens_before} -> {result.tokens_after} tokens; {where}")
    print(
        f"{len(jobs)} different candidates of its {result.counts.run} queries, {len(stream)} runs of them:", flush=True
    )
    print(f"{'':22} {'per second':>10} {'times':>7}    {'per processor second':>20} {'times':>7}   goal")
    fresh = rate_fresh(target, random.Random(0).sample(jobs, min(sample, len(jobs))))
    good = True
    print(f"{'fresh interpreters':22} {fresh.wall:10.2f} {1:7}    {fresh.cpu:20.2f} {1:7}", flush=True)
    for label, alone, goal in (("one per fork", True, FORK_GOAL), (f"in batches of {BATCH}", False, BATCH_GOAL)):
        rate = rate_pool(target, stream, alone)
        wall, cpu = rate.wall / fresh.wall, rate.cpu / fresh.cpu
        good &= wall >= goal
        print(f"{label:22} {rate.wall:10.2f} {wall:7.1f}    {rate.cpu:20.2f} {cpu:7.1f}   {goal:.0f}", flush=True)
    raise typer.Exit(0 if good else 1)


if __name__ == "__main__":
    typer.run(main)

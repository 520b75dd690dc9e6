"""``python -m benchmarks.throughput``: candidates per second on one core, three ways side by side.

A reduction of a 50-line vmap script is recorded, and its candidates are run again: a fresh interpreter
each (a sample), one per fork, and in batches. Everything is bound to one core.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from dataclasses import replace
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
BATCH = 50  # candidates that the pool is given at a time: a pass hands over chunks, not the whole stream


def bind_to_one_core() -> str:
    """Keep this process and its children on one core, where the system can; the core's name."""
    if not hasattr(os, "sched_setaffinity"):
        return "not bound: this system has no affinity"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"core {core}"


def rate_fresh(target: Target, jobs: Sequence[Job]) -> float:
    """Candidates per second, a fresh interpreter each."""
    start = time.perf_counter()
    for job in jobs:
        run_fresh(target, job.source, job.timeout)
    return len(jobs) / (time.perf_counter() - start)


def rate_pool(pool: Pool, jobs: Sequence[Job], alone: bool) -> float:
    """Candidates per second on a running pool, one per fork or in batches."""
    ready = [replace(job, alone=alone) for job in jobs]
    start = time.perf_counter()
    for i in range(0, len(ready), BATCH):
        pool.run(ready[i : i + BATCH])
    return len(jobs) / (time.perf_counter() - start)


def main(
    script: Annotated[Path, typer.Argument(help="The script whose reduction is recorded.")] = SCRIPT,
    candidates: Annotated[int, typer.Option(help="How many candidates to replay; 0: all.")] = 0,
    sample: Annotated[int, typer.Option(help="How many of them in fresh interpreters.")] = 10,
) -> None:
    """Record, replay three ways, print the rates and the ratios. Exits 1 below a goal."""
    where = bind_to_one_core()
    recorded, result = recording.record(script)
    target = recorded.target
    assert target is not None
    jobs = list({job.source: job for job in recorded.jobs}.values())
    if candidates:
        jobs = jobs[:candidates]
    lines = len(script.read_text(encoding="utf-8").splitlines())
    print(f"{script.name}, {lines} lines: {result.tokens_before} -> {result.tokens_after} tokens; {where}")
    print(f"{len(jobs)} different candidates of the {result.counts.run} queries are replayed")
    fresh = rate_fresh(target, random.Random(0).sample(jobs, min(sample, len(jobs))))
    with Pool(target, jobs=1) as pool:
        pool.run(jobs[:1])
        fork = rate_pool(pool, jobs, alone=True)
        batch = rate_pool(pool, jobs, alone=False)
    print(f"fresh interpreters {fresh:10.2f}/s")
    print(f"one per fork       {fork:10.2f}/s  {fork / fresh:8.1f} times (goal {FORK_GOAL:.0f})")
    print(f"in batches of {BATCH:<4} {batch:10.2f}/s  {batch / fresh:8.1f} times (goal {BATCH_GOAL:.0f})")
    raise typer.Exit(0 if fork / fresh >= FORK_GOAL and batch / fresh >= BATCH_GOAL else 1)


if __name__ == "__main__":
    typer.run(main)

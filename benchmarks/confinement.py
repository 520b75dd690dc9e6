"""``python -m benchmarks.confinement``: what confinement costs a query, and whether anything grows over many.

Two pools run the same programs side by side, turn by turn, one confined and one not, so that what else the machine does
falls on both; the median of the turns counts.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.fresh import median
from shrinkrepro.protocol import EXCEPTION, Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

BATCH = 20  # programs handed over at a time
FORK_GOAL, BATCH_GOAL = 1.25, 1.10  # times the time without confinement
PROGRAM = """\
import torch
from torch.func import grad, vmap


def loss(w, x):
    return torch.tanh(x @ w).sum()


w = torch.randn(8, 4)
print(vmap(grad(loss), (None, 0))(w, torch.randn(5, 8)).shape)
vmap(lambda x: x.item())(torch.ones(3))
"""


@dataclass(frozen=True)
class Held:
    """What a run holds of the machine. Bytes where not a number of things."""

    descriptors: int
    processes: int
    memory: int  # resident, of this process and all below it
    scratch: int  # files in the pool's folder

    def line(self) -> str:
        """The numbers in words."""
        return (
            f"{self.descriptors} descriptors, {self.processes} processes, {self.memory / 1e6:.0f} MB resident, "
            f"{self.scratch} files in scratch"
        )


def held(pool: Pool) -> Held:
    """What this process, with everything below it, holds now."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    below = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    descriptors = memory = 0
    for pid in below:
        try:
            descriptors += len(os.listdir(f"/proc/{pid}/fd"))
            memory += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return Held(descriptors, len(below), memory, sum(len(names) for _, _, names in os.walk(pool.scratch)))


def _seconds(pool: Pool, jobs: Sequence[Job]) -> float:
    start = time.perf_counter()
    executions = pool.run(jobs)
    seconds = time.perf_counter() - start
    if any(execution.status != EXCEPTION for execution in executions):
        raise SystemExit(f"a program ended otherwise than it should: {executions[0]}")
    return seconds / len(jobs)


def cost(target: Target, turns: int) -> bool:
    """Print the time of a query with and without confinement, side by side; whether it keeps to the goals."""
    good = True
    with Pool(target) as confined, Pool(replace(target, sandbox=False)) as free:
        print(f"confinement: {confined.info.confinement}", flush=True)
        print(f"{'':16} {'confined':>10} {'free':>10} {'times':>7}   goal")
        for label, alone, goal in (("one per fork", True, FORK_GOAL), (f"batch of {BATCH}", False, BATCH_GOAL)):
            jobs = [Job(PROGRAM, timeout=60.0, alone=alone)] * BATCH
            for pool in (confined, free):
                _seconds(pool, jobs)
            pairs = [(_seconds(confined, jobs), _seconds(free, jobs)) for _ in range(turns)]
            with_, without = (median(times) for times in zip(*pairs))
            times = median([a / b for a, b in pairs])
            good &= times <= goal
            print(f"{label:16} {with_ * 1000:7.1f} ms {without * 1000:7.1f} ms {times:7.2f}   {goal:.2f}", flush=True)
    return good


def growth(target: Target, queries: int) -> bool:
    """Run ``queries`` in one pool and print what is held before and after; whether nothing grew."""
    step = [Job(PROGRAM + f"# {number}\n", timeout=60.0) for number in range(50)]
    with Pool(target) as pool:
        for _ in range(4):
            pool.run(step)
        before = held(pool)
        print(f"before  {before.line()}", flush=True)
        start = time.perf_counter()
        for number in range(0, queries, len(step)):
            alone = number // len(step) % 4 == 0  # a quarter of them one per fork
            pool.run([replace(job, alone=alone) for job in step])
        after = held(pool)
        print(f"after   {after.line()}; {queries} queries in {time.perf_counter() - start:.0f} s", flush=True)
    left = pool.scratch.exists()
    print(f"scratch {'is still there' if left else 'is gone'}")
    same = before.descriptors == after.descriptors and before.processes == after.processes
    return same and before.scratch == after.scratch and after.memory < 1.1 * before.memory and not left


def main(
    turns: Annotated[int, typer.Option(help="Turns of 20 programs each, for the cost; 0: none.")] = 15,
    queries: Annotated[int, typer.Option(help="Queries in one run, for the growth; 0: none.")] = 0,
) -> None:
    """Print the cost and the growth; exits 1 where a goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(PROGRAM)
        target = Target(python=sys.executable, script_path=script, cwd=Path(folder))
        good = cost(target, turns) if turns else True
        good = (growth(target, queries) if queries else True) and good
    raise typer.Exit(0 if good else 1)


if __name__ == "__main__":
    typer.run(main)

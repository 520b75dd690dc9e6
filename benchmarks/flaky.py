"""``python -m benchmarks.flaky``: scripts that fail only sometimes are reduced, and the results run 2,000 times.

Decision: the original and the result are run turn by turn in the product's own workers, each run in a fork of its own
with another seed, so that what else the machine does falls on both; a race depends on it. The goal is a statement
about the true rate: the lower end of Wilson's interval for the result is at least ``GOAL`` of the original's rate.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import shrinkrepro
from shrinkrepro.oracles.flakiness import Rate
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import LOST, RUN, TIMEOUT, Execution, Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

SCRIPTS = tuple(Path(__file__).parent / "scripts" / f"{name}.py" for name in ("drawn_anew", "slopes_in_threads"))
GOAL = 0.8  # of the original's rate
TURN = 100  # runs of the result between two looks at the original
PART = 2  # one run of the original for so many of the result
TIMEOUT_SECONDS = 60.0
_PLACE = ", raised in"


def failing_as(signature: str, runs: Sequence[Execution]) -> Oracle | None:
    """The oracle of the first of ``runs`` that fails as the reduction said, by its message: a race has many places."""
    for run in runs:
        oracle = Oracle.of(run, "message")
        if oracle is not None and oracle.signature.describe().partition(_PLACE)[0] == signature.partition(_PLACE)[0]:
            return oracle
    return None


def counted(runs: Sequence[Execution], oracle: Oracle, text: str) -> Rate:
    """How many of ``runs`` failed the same; what timed out counts for nothing."""
    ended = [run for run in runs if run.status not in (TIMEOUT, LOST)]
    return Rate(sum(oracle.judge(run, text).interesting for run in ended), len(ended))


def measured(script: Path, reduction: shrinkrepro.Reduction, runs: int) -> tuple[Rate, Rate]:
    """How often the original and the result fail, the result in ``runs`` runs."""
    folder = script.resolve().parent
    target = Target(python=sys.executable, script_path=script.resolve(), cwd=folder)
    first: list[Execution] = []
    second: list[Execution] = []
    with Pool(target, jobs=1) as pool:
        while len(second) < runs:
            size = min(TURN, runs - len(second))
            for text, into, number in ((reduction.original, first, size // PART), (reduction.source, second, size)):
                seeds = range(1_000_000 + len(into), 1_000_000 + len(into) + number)
                into += pool.run([Job(text, RUN, TIMEOUT_SECONDS, alone=True, seed=seed) for seed in seeds])
    oracle = failing_as(reduction.signature, first) or failing_as(reduction.signature, second)
    if oracle is None:
        return Rate(0, len(first)), Rate(0, len(second))
    return counted(first, oracle, reduction.original), counted(second, oracle, reduction.source)


def main(
    only: Annotated[str, typer.Option(help="Names of scripts, with commas between.")] = "",
    runs: Annotated[int, typer.Option(help="How often each result is run.")] = 2000,
    budget: Annotated[float, typer.Option(help="Seconds for each reduction.")] = 600.0,
) -> None:
    """Reduce each script and bound the result's rate from below. Exits 1 where it may be too low."""
    bad = 0
    wanted = [name for name in only.split(",") if name]
    if not {*wanted} <= {one.stem for one in SCRIPTS}:
        raise typer.BadParameter(f"{only}: the scripts are {', '.join(one.stem for one in SCRIPTS)}")
    for script in (one for one in SCRIPTS if not wanted or one.stem in wanted):
        reduction = shrinkrepro.reduce(script, jobs=1, budget=budget)
        print(f"{script.name}: {reduction.signature}")
        print(
            f"  {reduction.tokens_before} -> {reduction.tokens_after} tokens in {reduction.seconds:.0f} s "
            f"({reduction.ended}), {reduction.counts.run} runs",
            flush=True,
        )
        before, after = measured(script, reduction, runs)
        low = after.interval()[0]
        good = after.failed > 0 and low >= GOAL * before.value
        bad += not good
        print(f"  the original fails in {before.describe()}, the result in {after.describe()}")
        print(f"  lower bound {low:.3f}, goal {GOAL * before.value:.3f}: {'held' if good else 'MISSED'}")
        print(reduction.source, flush=True)
    raise typer.Exit(1 if bad else 0)


if __name__ == "__main__":
    typer.run(main)

"""``python -m benchmarks.isolation``: does a spawned interpreter give the verdict that a forked child gives?

Each case's script and its version by hand run once in a fork of a warm server and once in an interpreter of its own,
as they are and under their control. Decision: where the two differ it is told which failure each had, as a difference
is no fault by itself: the start of a reduction looks for it and then takes ``--isolation spawn``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from sys import executable
from typing import Annotated

import typer

from benchmarks import index
from shrinkrepro.oracles.signature import signature_of
from shrinkrepro.protocol import PRIMAL, RUN, Execution, Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.spawn import SpawnPool
from shrinkrepro.workers.target import Target

SECONDS = 300.0  # for a program under load; one that compiles takes half a minute


def verdict(execution: Execution) -> str:
    """What a verdict rests on, in words."""
    signature = signature_of(execution)
    return execution.status if signature is None else signature.describe()


def differing(case: index.Case, path: Path, modes: Sequence[str]) -> list[str]:
    """For each mode in which fork and spawn differ on the program at ``path``, a line that says how."""
    target = Target(executable, path, path.parent, args=case.args)
    jobs = [Job(path.read_text(encoding="utf-8"), mode, SECONDS, alone=True) for mode in modes]
    with Pool(target) as pool:
        forked = pool.run(jobs)
    with SpawnPool(target) as spawned:
        others = spawned.run(jobs)
    pairs = [(verdict(one), verdict(other)) for one, other in zip(forked, others)]
    return [f"{mode}: fork {a}; spawn {b}" for mode, (a, b) in zip(modes, pairs) if a != b]


def main(
    only: Annotated[str, typer.Option(help="Names of cases or their beginnings, with commas between.")] = "",
) -> None:
    """Compare fork with spawn on the cases."""
    programs = different = 0
    for case in index.select(index.load(), only=[n for n in only.split(",") if n]):
        for path in (case.script, case.by_hand):
            lines = differing(case, path, (RUN, PRIMAL))
            programs, different = programs + 1, different + bool(lines)
            print(f"{case.name:42} {'script' if path == case.script else 'by hand':8} ", end="")
            print("DIFFERENT" if lines else "same", *lines, sep="\n    ", flush=True)
    print(f"{programs} programs, {programs - different} with the same verdicts")


if __name__ == "__main__":
    typer.run(main)

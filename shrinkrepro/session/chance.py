"""What chance does to the original: whether seeds make it fail every time, and else how often it fails.

Decision: seeds of its own come first, as a failure that comes every time is cheaper to judge and to read; only where no
seed does it is the failure a flaky one. One that comes in several ways is judged by the commonest, which holds best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shrinkrepro.core.seeding import seeded
from shrinkrepro.oracles.flakiness import Rate
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import EXCEPTION, signature_of
from shrinkrepro.protocol import RUN, Execution, Job
from shrinkrepro.session.journal import Journal
from shrinkrepro.session.request import Request
from shrinkrepro.workers.pool import Pool, default_jobs
from shrinkrepro.workers.target import Target

SEEDS_TRIED = 10
HARNESS_SEEDS = range(11, 19)  # with which a program that has seeds of its own must fail all the same
MORE_RUNS = 10  # runs with other seeds, when the first ones disagree
MOST_RUNS = 60  # of a script that has not failed yet: one that does one time in twenty is seen with 95 %
MORE_SECONDS = 5.0  # of its own time, for those


def pinned_or_flaky(
    request: Request, text: str, target: Target, fresh: Execution, journal: Journal | None
) -> tuple[str | None, Rate | None, Execution | None]:
    """What a script that passed once does at other times.

    Its text with seeds that make it fail; or how often it fails whatever its seeds are, and a run that did; or nothing.
    """
    limit = request.timeout or max(30.0, 5 * fresh.seconds)
    with Pool(target, request.jobs or default_jobs(), memory=journal) as pool:
        runs: list[Execution] = []
        failing: list[Execution] = []
        while not failing and len(runs) < MOST_RUNS and sum(run.seconds for run in runs) < MORE_SECONDS:
            seeds = range(len(runs) + 1, len(runs) + MORE_RUNS + 1)
            runs += pool.run([Job(text, RUN, limit, alone=True, seed=seed) for seed in seeds])
            failing = [run for run in runs if Oracle.of(run, request.match, request.exclude) is not None]
        pinned = pinned_text(text, failing_always(pool, None, limit)) if failing else None
    if pinned is not None:
        return pinned, None, None
    if failing:
        return None, Rate(len(failing), len(runs) + 1), failing[0]
    return None, None, None


def pinned_text(text: str, fails: Callable[[str], bool], tries: int = SEEDS_TRIED) -> str | None:
    """``text`` with the first seeds of its own with which it ``fails`` whatever the harness's are; None: not found."""
    return next((new for new in (seeded(text, seed) for seed in range(tries)) if fails(new)), None)


def failing_always(pool: Pool, oracle: Oracle | None, limit: float) -> Callable[[str], bool]:
    """Whether a text fails with each of the ``HARNESS_SEEDS``, as ``oracle`` has it or at all."""

    def fails(text: str) -> bool:
        runs = pool.run([Job(text, RUN, limit, alone=True, seed=seed) for seed in HARNESS_SEEDS])
        return all(oracle.judge(r, text).interesting if oracle else Oracle.of(r) is not None for r in runs)

    return fails


def anywhere(oracle: Oracle, runs: Sequence[Execution], text: str) -> Oracle | None:
    """``oracle`` without the place in the library, where ``runs`` in processes alike raise at several; else None.

    Threads that race are interrupted anywhere: where the library notices is chance, and no part of the bug.
    """
    if oracle.match != "signature" or oracle.signature.kind != EXCEPTION:
        return None
    loose = replace(oracle, anywhere=True)
    found = [signature_of(run) for run in runs if loose.judge(run, text).interesting]
    return loose if len({one.where for one in found if one is not None}) > 1 else None


@dataclass(frozen=True)
class Likeliest:
    """The commonest failure of a program whose runs fail in several ways, if at all."""

    oracle: Oracle
    run: Execution | None  # one that failed so; None: the first run's own failure is the commonest
    rate: Rate


def likeliest(text: str, pool: Pool, first: Oracle, limit: float) -> Likeliest:
    """By which failure to judge ``text``, which fails at times or in several ways, and how often it comes, roughly.

    Threads that race fail in several ways, and the first run may show the rarest of them: nothing would hold it.
    """
    runs = pool.run([Job(text, RUN, limit, alone=True, seed=seed) for seed in range(1, 2 * MORE_RUNS + 1)])
    best = _judged(first, runs, text)
    for run in runs:
        if first.match != "signature" or first.signature.kind != EXCEPTION or best.oracle.judge(run, text).interesting:
            continue
        oracle = Oracle.of(run, first.match, first.exclude)
        if oracle is not None and oracle.signature.kind == EXCEPTION:
            other = _judged(oracle, runs, text)
            if other.rate.failed > best.rate.failed:
                best = replace(other, run=run)
    return best


def _judged(oracle: Oracle, runs: Sequence[Execution], text: str) -> Likeliest:
    oracle = anywhere(oracle, runs, text) or oracle
    return Likeliest(oracle, None, Rate(sum(oracle.judge(run, text).interesting for run in runs), len(runs)))

"""The stream of candidates of a real reduction, as the pool was given it.

Decision: recorded at the pool's door, where batches are made, so that what is replayed is what was run.
Controls and observations are left out: they are other modes and cost something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import shrinkrepro
from shrinkrepro.api import Progress
from shrinkrepro.protocol import RUN, Execution, Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target


@dataclass
class Recording:
    """What a reduction sent to its pool: the jobs that ran candidates, in order, and where they ran."""

    jobs: list[Job] = field(default_factory=list)
    target: Target | None = None


@contextmanager
def _pool_run(change: Callable[[Pool, Sequence[Job]], Sequence[Job]]) -> Iterator[None]:
    real = Pool.run

    def run(self: Pool, jobs: Sequence[Job]) -> list[Execution]:
        return real(self, change(self, jobs))

    Pool.run = run  # type: ignore[method-assign]
    try:
        yield
    finally:
        Pool.run = real  # type: ignore[method-assign]


def record(
    script: Path, budget: float = 300.0, progress: Progress | None = None
) -> tuple[Recording, shrinkrepro.Reduction]:
    """Reduce ``script`` with one worker; what ran on the way, and the result. ``progress`` is told."""
    recording = Recording()

    def note(pool: Pool, jobs: Sequence[Job]) -> Sequence[Job]:
        recording.jobs.extend(job for job in jobs if job.mode == RUN)
        recording.target = pool.target
        return jobs

    with _pool_run(note):
        result = shrinkrepro.reduce(script, jobs=1, budget=budget, progress=progress)
    return recording, result


def reduce_one_per_fork(script: Path, budget: float = 300.0) -> shrinkrepro.Reduction:
    """Reduce ``script`` with one worker and every candidate in a fork of its own."""
    with _pool_run(lambda pool, jobs: [replace(job, alone=True) for job in jobs]):
        return shrinkrepro.reduce(script, jobs=1, budget=budget)

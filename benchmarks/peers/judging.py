"""The one interestingness test: does a text fail as the original does, in a fresh interpreter or in a warm server?

Decision: the signature alone decides, with no control, because that is what a careful user of any reducer would write
down. What does not compile is refused without a run, as such a user's test would. The oracle is the product's, made
once from the original.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from benchmarks.peers.subjects import Subject
from shrinkrepro.api import Silent
from shrinkrepro.oracles.faces import Faces
from shrinkrepro.oracles.mismatch import Difference
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import RUN, Execution, Job
from shrinkrepro.session.original import one_file, run_original
from shrinkrepro.session.warm import open_pool
from shrinkrepro.workers.fresh import run_fresh

FRESH, SERVED = "fresh", "served"
INTERESTING, OTHER, NO_PROGRAM = "interesting", "other", "does not compile"
FRESH_PATIENCE = 4.0  # times the original's own time, before a run is given up; busy machines vary by two
SERVED_PATIENCE = 4.0
FRESH_LEAST, SERVED_LEAST = 20.0, 2.0  # seconds
_LIMIT = 60.0  # seconds for the first runs in a server


class Judging:
    """Judges texts against one original; a context manager.

    ``text`` is what a reducer is given: the script, with its local modules folded in and, where it only prints, with
    the comparison as its last line.

    Raises:
        ShrinkReproError: the original does not fail here.
    """

    def __init__(self, subject: Subject, folder: Path, python: str, budget: float) -> None:
        request = subject.request(folder, python, budget)
        first = run_original(request, Silent())
        ready = open_pool(first, request, Silent())
        self._pool, self._oracle = ready.pool, ready.oracle
        try:
            self._target = ready.original.target
            self.torch = self._pool.info.torch
            self.text = one_file(ready.original, lambda text: self._judged(self._run(text, _LIMIT), text), [])
            if self.text != ready.original.script.text:
                self._target = replace(self._target, sys_path0=self._pool.scratch, package="")
            warm = self._run(self.text, _LIMIT)
            self._warm_seconds, self._fresh_seconds = warm.seconds, first.fresh.seconds
            if isinstance(self._oracle, Oracle):
                self._oracle = replace(self._oracle, difference=Difference.of(warm))
        except BaseException:
            self._pool.close()
            raise

    def __enter__(self) -> Judging:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.close()

    def ask(self, text: str, mode: str, until: float) -> str:
        """INTERESTING, OTHER or NO_PROGRAM; ``mode`` is FRESH or SERVED, and ``until`` when to give up, in the seconds
        of ``time.monotonic``."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(text, "candidate.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return NO_PROGRAM
        left = max(0.1, until - time.monotonic())
        if mode == SERVED:
            run = self._run(text, min(left, max(SERVED_LEAST, SERVED_PATIENCE * self._warm_seconds)))
        else:
            run = run_fresh(self._target, text, min(left, max(FRESH_LEAST, FRESH_PATIENCE * self._fresh_seconds)))
        return INTERESTING if self._judged(run, text, mode) else OTHER

    def _run(self, text: str, limit: float) -> Execution:
        [execution] = self._pool.run([Job(text, RUN, limit, alone=True)])
        return execution

    def _judged(self, run: Execution, text: str, mode: str = SERVED) -> bool:
        oracle = self._oracle.in_fresh if mode == FRESH and isinstance(self._oracle, Faces) else self._oracle
        return oracle.judge(run, text).interesting

"""Judging a program whose failure comes only sometimes: many runs of each, and a decision with stated errors.

Decision: a run that fails for another reason refuses the program at once, if the original never did that, as it is the
cheapest proof that there is; all else is counted. The seed differs in every run, as a fixed one would hide a flake.
Runs go in batches where the pool may do so: what is compared was measured in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shrinkrepro.core.verdict import Outcome, Verdict
from shrinkrepro.oracles.flakiness import Rate, SequentialTest, candidate_test, end_test, looks, raised
from shrinkrepro.protocol import RUN, Execution, Job

FIRST = 2  # runs of each candidate before any is run more often: most show at once that they are another program
WAVE = 24  # runs between two looks at the counts, at first; a look costs a round trip
MOST_RUNS = 1500  # to measure a rate: enough for one in twenty
MOST_SECONDS = 20.0  # of the programs' own time, to measure a rate


@dataclass(frozen=True)
class Counted:
    """Some runs of one program."""

    rate: Rate
    slip: Verdict | None  # of the first run that failed for another reason
    failing: Execution | None  # the first that failed the same
    unresolved: int  # runs that timed out or were lost: they count for nothing
    seconds: float  # that they took together

    def __add__(self, other: Counted) -> Counted:
        return Counted(
            self.rate + other.rate,
            self.slip or other.slip,
            self.failing or other.failing,
            self.unresolved + other.unresolved,
            self.seconds + other.seconds,
        )


NOTHING = Counted(Rate(0, 0), None, None, 0, 0.0)


class Flake:
    """Judges by repeated runs. ``run`` executes jobs, ``judge`` says what one run shows, ``limit`` is in seconds."""

    def __init__(
        self,
        run: Callable[[Sequence[Job]], list[Execution]],
        judge: Callable[[Execution, str], Verdict],
        limit: Callable[[], float],
        guess: Rate,
    ) -> None:
        self.original = guess  # how often the original fails
        self.anchor = max(guess.interval()[0], 0.02)
        self.slips = False  # whether the original itself fails for other reasons too
        self._run, self._judge, self._limit = run, judge, limit
        self._turns: dict[str, int] = {}  # how many seeds a program has used

    @property
    def looks(self) -> int:
        """Runs in which a program that is as good as the original shows its failure at least once."""
        return looks(self.anchor)

    def measured(self, source: str) -> Rate:
        """How often ``source`` fails the same: as many runs as it takes to know that well enough."""
        seen = NOTHING
        while seen.rate.runs + seen.unresolved < MOST_RUNS and seen.seconds < MOST_SECONDS and not seen.rate.known():
            [more] = self._counted([source], 2 * WAVE)
            seen = seen + more
        return seen.rate

    def settle(self, source: str) -> Rate:
        """Measure the original's rate on ``source``, its normal form: what all others are held to."""
        [first] = self._counted([source], 2 * WAVE)
        self.slips = first.slip is not None
        self.original = self.measured(source)
        self.anchor = max(self.original.value, 0.02)
        return self.original

    def screen(self, sources: Sequence[str], alone: bool = False) -> list[Verdict]:
        """Which of ``sources`` fail the same at all."""
        seen = dict.fromkeys(sources, NOTHING)
        verdicts: dict[str, Verdict] = {}
        turns, size = 0, FIRST
        while len(verdicts) < len(seen) and turns < self.looks:
            size = min(size, self.looks - turns)
            left = [source for source in seen if source not in verdicts]
            for source, more in zip(left, self._counted(left, size, alone)):
                seen[source] = seen[source] + more
                verdict = self._first_sight(seen[source])
                if verdict is not None:
                    verdicts[source] = verdict
            turns, size = turns + size, WAVE
        return [verdicts.get(source, Verdict(Outcome.PASSED)) for source in sources]

    def _first_sight(self, seen: Counted) -> Verdict | None:
        if seen.slip is not None and not self.slips:
            return seen.slip
        if seen.failing is not None:
            return Verdict(Outcome.INTERESTING)
        if seen.unresolved and not seen.rate.runs:
            return Verdict(Outcome.UNRESOLVED, "", "timed out")
        return None

    def holds(self, source: str, test: SequentialTest | None = None) -> tuple[Verdict, Counted]:
        """Whether ``source`` fails as often as it must, by ``test`` (None: that for candidates), and its runs."""
        test = test or candidate_test(self.anchor)
        seen, size = NOTHING, WAVE // 2
        while True:
            [more] = self._counted([source], size)
            seen = seen + more
            if seen.slip is not None and not self.slips:
                return seen.slip, seen
            found = test.decide(seen.rate)
            if found:
                return Verdict(Outcome.INTERESTING), seen
            if found is False:
                return Verdict(Outcome.FLAKY, "", f"fails in {seen.rate.describe()} only"), seen
            if seen.unresolved > WAVE and seen.unresolved > seen.rate.runs:
                return Verdict(Outcome.UNRESOLVED, "", "timed out"), seen
            size = min(2 * size, 4 * WAVE)

    def ends_well(self, source: str) -> bool:
        """Whether ``source``, the end of a run, fails as often as the original did."""
        return self.holds(source, end_test(self.original.value))[0].interesting

    def rarer_now(self, source: str) -> bool:
        """Whether ``source``, the original, itself fails more rarely by now, as races do on a busier machine.

        What is measured now is then what ends are held to.
        """
        again = self.measured(source)
        rarer = again.interval()[1] < self.original.value
        if rarer:
            self.original, self.anchor = again, max(again.value, 0.02)
        return rarer

    def adopt(self, rate: Rate) -> None:
        """A program that fails as ``rate`` was adopted."""
        self.anchor = raised(self.anchor, rate)

    def failing(self, source: str, mode: str, wanted: Callable[[Execution], bool], limit: float) -> Execution | None:
        """A run of ``source`` in ``mode`` that is ``wanted``, or None after enough of them."""
        for start in range(0, 2 * self.looks, FIRST * 2):
            seeds = self._seeds(source, FIRST * 2, start)
            for execution in self._run([Job(source, mode, limit, alone=True, seed=seed) for seed in seeds]):
                if wanted(execution):
                    return execution
        return None

    def worst(self, jobs: Sequence[Job], good: Callable[[Execution], bool]) -> list[Execution]:
        """For each job (a control), its first run that was not ``good``, else its last: a flake may pass by luck."""
        found = []
        for job in jobs:
            seeds = self._seeds(job.source, self.looks, 0)
            runs = self._run([Job(job.source, job.mode, job.timeout, alone=True, seed=seed) for seed in seeds])
            found.append(next((run for run in runs if not good(run)), runs[-1]))
        return found

    def _counted(self, sources: Sequence[str], runs: int, alone: bool = False) -> list[Counted]:
        """The counts of ``runs`` new runs of each of ``sources``."""
        limit = self._limit()
        jobs = [Job(s, RUN, limit, alone, seed) for s in sources for seed in self._new_seeds(s, runs)]
        executions = self._run(jobs)
        return [self._count(s, executions[i * runs : (i + 1) * runs]) for i, s in enumerate(sources)]

    def _count(self, source: str, executions: Sequence[Execution]) -> Counted:
        verdicts = [self._judge(execution, source) for execution in executions]
        outcomes = [verdict.outcome for verdict in verdicts]
        unresolved = outcomes.count(Outcome.UNRESOLVED)
        failed = outcomes.count(Outcome.INTERESTING)
        other = (v for v in verdicts if v.outcome in (Outcome.SLIPPED, Outcome.INVALID))
        same = (e for e, outcome in zip(executions, outcomes) if outcome is Outcome.INTERESTING)
        return Counted(
            Rate(failed, len(executions) - unresolved),
            next(other, None),
            next(same, None),
            unresolved,
            sum(execution.seconds for execution in executions),
        )

    def _new_seeds(self, source: str, number: int) -> list[int]:
        used = self._turns.get(source, 0)
        self._turns[source] = used + number
        return self._seeds(source, number, used)

    @staticmethod
    def _seeds(source: str, number: int, used: int) -> list[int]:
        """Seeds that differ from program to program, so that luck with some does not last."""
        digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()
        start = int.from_bytes(digest[:3], "big")
        return list(range(start + used, start + used + number))

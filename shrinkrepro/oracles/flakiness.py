"""Failures that come only sometimes: how often, and whether a candidate fails as often, with stated errors.

Decision: a candidate is held to the rate of the original and not to that of the program before it, so that many small
losses cannot add up; and each decision is a sequential test, which costs few runs where the answer is clear.

- The rate at the start and at the end is given with Wilson's interval (E. B. Wilson, "Probable inference, the law of
  succession, and statistical inference", JASA 22, 1927): it holds for few runs and for rates near 0 and 1.
- A candidate is judged by Wald's sequential probability ratio test (A. Wald, "Sequential tests of statistical
  hypotheses", Ann. Math. Stat. 16, 1945) of "fails as often as the anchor" against "fails at most ``share`` as often".
  The chance to adopt one that is at or below the share is at most ``false_hit``, the chance to refuse one that fails as
  often as the anchor at most ``false_miss`` (Wald's bounds, to within their usual approximation: the sum of both is
  exact). A test that has not decided after ``most`` runs is decided by the half-way rate.
- The anchor is the original's rate. It rises with what is adopted (by the lower bound of an interval, so that luck does
  not raise it), and never falls: a program that came to fail every time is not given up for one that does not.
- The first look at a candidate asks only that it fails at all; one that fails as often as the anchor is missed with a
  chance of at most ``missed``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

RAREST = 0.02  # failures that are rarer cannot be judged in a sensible number of runs
SURE = 2.576  # standard deviations of a two-sided 99 % interval
USUAL = 1.96  # of a 95 % one
PRECISION = 0.25  # of the anchor's interval, half its width as a part of the rate
CERTAIN = 0.99  # as what a rate near one counts: one miss in many runs is no proof


@dataclass(frozen=True)
class Rate:
    """``failed`` of ``runs``."""

    failed: int
    runs: int

    @property
    def value(self) -> float:
        """The part that failed; 0 when there was no run."""
        return self.failed / self.runs if self.runs else 0.0

    def interval(self, deviations: float = USUAL) -> tuple[float, float]:
        """Wilson's score interval; (0, 1) when there was no run."""
        if not self.runs:
            return 0.0, 1.0
        n, p, z = self.runs, self.value, deviations
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        low = 0.0 if not self.failed else max(0.0, middle - half)
        high = 1.0 if self.failed == n else min(1.0, middle + half)
        return low, high

    def known(self) -> bool:
        """Whether the rate is known to within ``PRECISION``, or known to be too rare."""
        low, high = self.interval()
        return self.failed > 1 and (high - low) / 2 <= PRECISION * self.value

    def describe(self) -> str:
        """In words: ``31 % of 400 runs (27 to 36 %)``."""
        low, high = self.interval()
        return f"{_percent(self.value)} of {self.runs} runs ({_bare(low)} to {_percent(high)})"

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.failed + other.failed, self.runs + other.runs)


@dataclass(frozen=True)
class SequentialTest:
    """Does something fail as often as ``anchor``, or at most ``share`` as often? Probabilities."""

    anchor: float
    share: float
    false_hit: float
    false_miss: float

    def decide(self, seen: Rate) -> bool | None:
        """Whether it fails as often; None while more runs are needed."""
        high = min(self.anchor, CERTAIN)
        low = self.share * high
        ratio = seen.failed * math.log(high / low) + (seen.runs - seen.failed) * math.log((1 - high) / (1 - low))
        if ratio >= math.log((1 - self.false_miss) / self.false_hit):
            return True
        if ratio <= math.log(self.false_miss / (1 - self.false_hit)):
            return False
        return None if seen.runs < self.most else seen.value >= (low + high) / 2

    @property
    def most(self) -> int:
        """Runs after which the test is ended: four times what it takes on average when the anchor's rate is true."""
        high = min(self.anchor, CERTAIN)
        low = self.share * high
        gain = high * math.log(high / low) + (1 - high) * math.log((1 - high) / (1 - low))
        return math.ceil(4 * math.log((1 - self.false_miss) / self.false_hit) / gain)


def candidate_test(anchor: float) -> SequentialTest:
    """For each candidate that could be adopted: cheap, since the end is tested again."""
    return SequentialTest(anchor, share=0.7, false_hit=0.05, false_miss=0.05)


def end_test(anchor: float) -> SequentialTest:
    """For the end of a run, and the steps that lead to it when it is refused."""
    return SequentialTest(anchor, share=0.8, false_hit=0.02, false_miss=0.1)


def looks(anchor: float, missed: float = 0.05) -> int:
    """Runs in which what fails as often as ``anchor`` shows it at least once, but for a chance of ``missed``."""
    return max(1, math.ceil(math.log(missed) / math.log(1 - min(anchor, CERTAIN))))


def raised(anchor: float, adopted: Rate) -> float:
    """The anchor after a program was adopted that failed as ``adopted``."""
    return max(anchor, adopted.interval(SURE)[0])


def _bare(part: float) -> str:
    return f"{100 * part:.0f}" if part == 0 or part >= 0.1 else f"{100 * part:.1f}"


def _percent(part: float) -> str:
    return f"{_bare(part)} %"

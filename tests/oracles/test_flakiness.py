"""The statistics of flaky failures, against known rates."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.oracles.flakiness import (
    CERTAIN,
    Rate,
    SequentialTest,
    candidate_test,
    end_test,
    looks,
    raised,
)

rates = st.floats(0.02, 1.0)


@given(st.integers(0, 500), st.integers(1, 500))
def test_the_interval_holds_the_rate_and_narrows(failed: int, runs: int) -> None:
    rate = Rate(min(failed, runs), runs)
    low, high = rate.interval()
    assert 0 <= low <= rate.value <= high <= 1
    wide = rate.interval(2.576)
    assert wide[0] <= low
    assert wide[1] >= high
    more = Rate(rate.failed * 4, runs * 4).interval()
    assert more[1] - more[0] < high - low


@pytest.mark.parametrize(("failed", "runs", "low", "high"), [(1, 10, 0.0179, 0.4042), (81, 263, 0.2553, 0.3662)])
def test_the_interval_is_wilsons(failed: int, runs: int, low: float, high: float) -> None:
    # The second is Newcombe's example (Statistics in Medicine 17, 1998, table I: 0.2553 to 0.3662).
    assert Rate(failed, runs).interval() == pytest.approx((low, high), abs=1e-4)


@given(st.integers(0, 60), st.integers(1, 60))
def test_the_interval_mirrors(failed: int, runs: int) -> None:
    failed = min(failed, runs)
    low, high = Rate(failed, runs).interval()
    assert Rate(runs - failed, runs).interval() == pytest.approx((1 - high, 1 - low))


@given(rates, st.sampled_from([candidate_test, end_test]))
def test_a_test_always_ends_and_is_not_decided_before_the_first_run(anchor: float, test: object) -> None:
    assert callable(test)
    made = test(anchor)
    assert made.decide(Rate(0, 0)) is None
    for failed in (0, round(made.most * anchor * 0.9), made.most):
        assert made.decide(Rate(failed, made.most)) is not None
    assert made.decide(Rate(made.most, made.most)) is True
    assert made.decide(Rate(0, made.most)) is False


@given(rates, st.integers(0, 200), st.integers(1, 200))
def test_one_failure_more_never_turns_a_hit_into_a_miss(anchor: float, failed: int, runs: int) -> None:
    order = {False: 0, None: 1, True: 2}
    failed = min(failed, runs - 1)
    test = candidate_test(anchor)
    assert order[test.decide(Rate(failed + 1, runs))] >= order[test.decide(Rate(failed, runs))]


def decided(test: SequentialTest, rate: float, random_: random.Random) -> bool:
    failed = runs = 0
    while True:
        runs += 1
        failed += random_.random() < rate
        found = test.decide(Rate(failed, runs))
        if found is not None:
            return found


@pytest.mark.parametrize("anchor", [0.2, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("make", [candidate_test, end_test])
def test_the_errors_are_those_that_are_stated(anchor: float, make: object) -> None:
    assert callable(make)
    test, random_, times = make(anchor), random.Random(1), 120
    high = min(anchor, CERTAIN)
    hits = sum(decided(test, test.share * high, random_) for _ in range(times))
    misses = sum(not decided(test, high, random_) for _ in range(times))
    for wrong, bound in ((hits, test.false_hit), (misses, test.false_miss)):
        # Wald's bound is bound/(1 - the other error); three deviations of the count for luck, which is seeded
        stated = bound / (1 - max(test.false_hit, test.false_miss))
        assert wrong <= times * stated + 3 * math.sqrt(times * stated)


@given(rates)
def test_looks_miss_no_more_than_stated(anchor: float) -> None:
    n = looks(anchor)
    assert (1 - min(anchor, CERTAIN)) ** n <= 0.05 + 1e-12
    assert n == 1 or (1 - anchor) ** (n - 1) > 0.05 - 1e-12


@given(rates, st.integers(0, 300), st.integers(0, 300))
def test_the_anchor_never_falls_and_is_not_raised_by_luck(anchor: float, failed: int, runs: int) -> None:
    seen = Rate(min(failed, runs), runs)
    after = raised(anchor, seen)
    assert after >= anchor
    assert after == anchor or after < seen.value


@pytest.mark.parametrize(
    ("rate", "words"), [(Rate(120, 400), "30 % of 400 runs (26 to 35 %)"), (Rate(1, 40), "2.5 % of")]
)
def test_words(rate: Rate, words: str) -> None:
    assert rate.describe().startswith(words)


class Simulated:
    """Programs are sets of parts. What each part that is cut takes of the rate, or adds to it, is drawn."""

    def __init__(self, rate: float, random_: random.Random) -> None:
        self.rate = rate
        self.random = random_
        self.factors = [random_.choice([1, 1, 1, 1, 0.9, 0.7, 0.5, 0.0, 1.3, 2.0]) for _ in range(40)]

    def true_rate(self, cut: frozenset[int]) -> float:
        return min(1.0, self.rate * math.prod(self.factors[i] for i in cut))

    def runs(self, cut: frozenset[int], n: int) -> Rate:
        true = self.true_rate(cut)
        return Rate(sum(self.random.random() < true for _ in range(n)), n)

    def holds(self, cut: frozenset[int], test: SequentialTest) -> tuple[bool, Rate]:
        seen = Rate(0, 0)
        while True:
            seen = seen + self.runs(cut, 20)
            found = test.decide(seen)
            if found is not None:
                return found, seen


def reduced(oracle: Simulated) -> frozenset[int]:
    """A greedy reduction as a session makes it: look, test, adopt, raise the anchor; test the end, go back."""
    measured = Rate(0, 0)
    while not measured.known():
        measured = measured + oracle.runs(frozenset(), 50)
    anchor = measured.value
    steps: list[frozenset[int]] = [frozenset()]
    for part in range(len(oracle.factors)):
        cut = steps[-1] | {part}
        if not oracle.runs(cut, looks(anchor)).failed:
            continue
        holds, seen = oracle.holds(cut, candidate_test(anchor))
        if holds:
            steps.append(cut)
            anchor = raised(anchor, seen)
    while len(steps) > 1 and not oracle.holds(steps[-1], end_test(measured.value))[0]:
        steps.pop()
    return steps[-1]


@pytest.mark.parametrize("rate", [0.3, 0.05])
def test_no_reduction_drifts_to_a_rarer_failure(rate: float) -> None:
    ends = []
    for seed in range(20):
        oracle = Simulated(rate, random.Random(seed))
        end = reduced(oracle)
        assert len(end) > 10
        ends.append(oracle.true_rate(end))
    assert min(ends) > 0
    assert sum(end >= 0.8 * rate for end in ends) >= 19

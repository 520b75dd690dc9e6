"""Flaky failures through the real engine and judge, over simulated runs whose true rates are known."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

import pytest

from shrinkrepro.api import Silent
from shrinkrepro.core.program import Program
from shrinkrepro.core.registry import load_strategies
from shrinkrepro.core.verdict import Outcome
from shrinkrepro.oracles.flakiness import Rate
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import EXCEPTION, OK, PRIMAL, RUN, TIMEOUT, Execution, Frame, Job, Raised
from shrinkrepro.session.chance import anywhere, likeliest
from shrinkrepro.session.judge import SessionJudge
from shrinkrepro.session.run import _fails_at_times, _reduce, _State
from shrinkrepro.workers.pool import TargetInfo

PARTS = 12
SCRIPT = "import torch\n" + "".join(f"print({100 + i})\n" for i in range(PARTS)) + "torch.ones(2).bug()\n"


def raised(message: str) -> Execution:
    frame = Frame("torch/bug.py", 1, "bug", True)
    return Execution(status=EXCEPTION, chain=(Raised("RuntimeError", message, (frame,)),), seconds=0.001, watched=True)


class SimulatedPool:
    """Runs nothing: a program fails with the rate that its lines give it. Stands in for a ``Pool``."""

    def __init__(self, rate: float, random_: random.Random, factors: Sequence[float]) -> None:
        self.info = TargetInfo("3.11", "2.13", frozenset(), frozenset({"torch"}))
        self.recalled = 0
        self.rate = rate
        self.random = random_
        self.factors = factors
        self.asked: Counter[tuple[str, str, int | None]] = Counter()

    def true_rate(self, source: str) -> float:
        if "bug()" not in source:
            return 0.0
        gone = (factor for i, factor in enumerate(self.factors) if f"({100 + i})" not in source)
        return min(1.0, self.rate * math.prod(gone))

    def run(self, jobs: Sequence[Job]) -> list[Execution]:
        return [self._execution(job) for job in jobs]

    def _execution(self, job: Job) -> Execution:
        self.asked[job.source, job.mode, job.seed] += 1
        if job.mode != RUN:
            return Execution(status=OK, seconds=0.001, watched=True)
        if "slip()" in job.source:
            return raised("another")
        if "slow()" in job.source:
            return Execution(status=TIMEOUT, seconds=1.0)
        fails = self.random.random() < self.true_rate(job.source)
        return raised("boom") if fails else Execution(status=OK, seconds=0.001, watched=True)


def judge_of(pool: SimulatedPool) -> SessionJudge:
    oracle = Oracle.of(raised("boom"))
    assert oracle is not None
    judge = SessionJudge(pool, oracle, Silent())  # type: ignore[arg-type]
    judge.flake = judge.flaky(Rate(1, 4))
    return judge


def test_no_reduction_ends_on_a_rarer_failure() -> None:
    one = tuple(strategy for strategy in load_strategies() if strategy.name == "drop-statement")  # others take time
    assert len(one) == 1
    ends = []
    for seed in range(6):
        random_ = random.Random(seed)
        factors = [random_.choice([1, 1, 1, 0.9, 0.7, 0.5, 0.2, 1.3]) for _ in range(PARTS)]
        pool = SimulatedPool(0.3, random_, factors)
        judge = judge_of(pool)
        assert judge.flake is not None
        program = Program.parse(SCRIPT)
        judge.flake.settle(program.source)
        judge.settle_controls(program.source)
        state = _State(one, steps=[("normal form", program.source)])
        _reduce(program, judge, state, Silent())
        assert state.ended == "minimal"
        end = state.steps[-1][1]
        assert len(end) < len(SCRIPT)
        ends.append(pool.true_rate(end))
        assert max(pool.asked[key] for key in pool.asked if key[1] == RUN and key[2] is not None) <= 2
    assert min(ends) > 0
    assert sum(end >= 0.8 * 0.3 for end in ends) >= 5


def test_another_failure_refuses_a_program_after_its_first_runs() -> None:
    pool = SimulatedPool(0.3, random.Random(1), [1] * PARTS)
    judge = judge_of(pool)
    assert judge.flake is not None
    source = SCRIPT + "slip()\n"
    [verdict] = judge.flake.screen([source])
    assert verdict.outcome is Outcome.SLIPPED
    assert pool.asked.total() == 2


def test_a_program_that_never_fails_costs_as_many_runs_as_its_error_needs_and_each_has_its_seed() -> None:
    pool = SimulatedPool(0.3, random.Random(1), [1] * PARTS)
    judge = judge_of(pool)
    assert judge.flake is not None
    judge.flake.settle(SCRIPT)
    pool.asked.clear()
    [verdict] = judge.flake.screen(["import torch\n"])
    assert verdict.outcome is Outcome.PASSED
    assert pool.asked.total() == judge.flake.looks
    assert set(pool.asked.values()) == {1}


def test_a_time_out_is_no_run() -> None:
    pool = SimulatedPool(0.3, random.Random(1), [1] * PARTS)
    judge = judge_of(pool)
    assert judge.flake is not None
    [verdict] = judge.flake.screen([SCRIPT + "slow()\n"])
    assert verdict.outcome is Outcome.UNRESOLVED
    assert judge.flake.holds(SCRIPT + "slow()\n")[0].outcome is Outcome.UNRESOLVED


def test_on_a_busier_machine_ends_are_held_to_what_the_original_does_by_now() -> None:
    pool = SimulatedPool(0.8, random.Random(2), [1] * PARTS)
    judge = judge_of(pool)
    assert judge.flake is not None
    judge.flake.settle(SCRIPT)
    assert judge.flake.ends_well(SCRIPT)
    assert not judge.flake.rarer_now(SCRIPT)
    pool.rate = 0.3
    assert not judge.flake.ends_well(SCRIPT)
    assert judge.flake.rarer_now(SCRIPT)
    assert judge.flake.ends_well(SCRIPT)


@pytest.mark.parametrize("passes", [True, False])
def test_a_control_has_to_pass_as_often_as_a_failure_would_need_to_show(passes: bool) -> None:
    pool = SimulatedPool(0.3, random.Random(1), [1] * PARTS)
    judge = judge_of(pool)
    assert judge.flake is not None
    runs = iter(range(10_000))

    def run(jobs: Sequence[Job]) -> list[Execution]:
        return [Execution(status=OK, seconds=0.001) if passes or next(runs) % 5 != 4 else raised("boom") for _ in jobs]

    pool.run = run  # type: ignore[method-assign]
    [worst] = judge.flake.worst([Job(SCRIPT, PRIMAL)], lambda execution: execution.status == OK)
    assert (worst.status == OK) == passes


def raced(message: str, function: str) -> Execution:
    frame = Frame(f"torch/{function}.py", 1, function, True)
    return Execution(status=EXCEPTION, chain=(Raised("RuntimeError", message, (frame,)),))


def test_what_is_raised_at_several_places_is_known_by_its_message() -> None:
    fresh = raced("no level", "exp")
    oracle = Oracle.of(fresh)
    assert oracle is not None
    other = raced("no level", "linear")
    assert not oracle.judge(other).interesting
    loose = anywhere(oracle, [fresh, other, raced("gone", "exp")], "")
    assert loose is not None
    assert loose.judge(other).interesting
    assert not loose.judge(raced("gone", "exp")).interesting


def test_one_other_place_is_a_difference_of_the_workers_and_not_of_chance() -> None:
    fresh = raced("no level", "exp")
    oracle = Oracle.of(fresh)
    assert oracle is not None
    assert anywhere(oracle, [raced("no level", "linear")] * 6, "") is None
    named = Oracle.of(fresh, "type")
    assert named is not None
    assert anywhere(named, [fresh, raced("no level", "linear")], "") is None


def test_a_race_that_failed_twice_at_one_place_is_known_anywhere_once_it_fails_at_others() -> None:
    pool = SimulatedPool(1.0, random.Random(1), [1] * PARTS)
    judge = judge_of(pool)
    judge.flake = None
    oracle = Oracle.of(raced("no level", "exp"))
    assert oracle is not None
    judge.oracle = oracle
    places = iter(["exp", "linear", "sum", "mul"] * 5)
    pool.run = lambda jobs: [raced("no level", next(places)) for _ in jobs]  # type: ignore[method-assign]
    assert _fails_at_times(judge, SCRIPT, 1.0)
    assert judge.oracle.anywhere
    assert judge.flake is not None  # it may pass too, if seldom


class SeveralWays:
    """Fails in turn with each of ``messages`` ("" passes). Stands in for a ``Pool``."""

    def __init__(self, messages: Sequence[str]) -> None:
        self.messages = messages

    def run(self, jobs: Sequence[Job]) -> list[Execution]:
        turns = (self.messages[i % len(self.messages)] for i in range(len(jobs)))
        return [raised(message) if message else Execution(status=OK, watched=True) for message in turns]


@pytest.mark.parametrize(
    ("messages", "judged_by", "failed"),
    [
        (["rare", "often", "often", ""], "often", 10),  # the first run showed the rarest: it would hold nothing
        (["rare", "", "often", ""], "rare", 5),  # as often as another: what the user saw first
        (["other", "often", "often", ""], "often", 10),  # the first run's never came again
        (["rare"], "rare", 20),
    ],
)
def test_a_failure_that_comes_in_several_ways_is_judged_by_the_commonest(
    messages: list[str], judged_by: str, failed: int
) -> None:
    first = Oracle.of(raised("rare"))
    assert first is not None
    found = likeliest(SCRIPT, SeveralWays(messages), first, 1.0)  # type: ignore[arg-type]
    assert (found.oracle.signature.sentence, found.rate) == (judged_by, Rate(failed, 20))
    assert (found.run is None) == (found.oracle == first)


def test_a_chosen_match_is_not_exchanged_for_a_commoner_failure() -> None:
    first = Oracle.of(raised("rare"), "message")
    assert first is not None
    found = likeliest(SCRIPT, SeveralWays(["rare", "often", "often"]), first, 1.0)  # type: ignore[arg-type]
    assert (found.oracle, found.rate) == (first, Rate(7, 20))

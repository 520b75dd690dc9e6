"""What the benchmark of flaky scripts counts: runs of the reduction's own failure, and nothing that timed out."""

from __future__ import annotations

from benchmarks.flaky import SCRIPTS, counted, failing_as
from shrinkrepro.oracles.flakiness import Rate
from shrinkrepro.protocol import EXCEPTION, OK, TIMEOUT, Execution, Frame, Raised


def raised(message: str) -> Execution:
    frame = Frame("torch/bug.py", 1, "bug", True)
    return Execution(status=EXCEPTION, chain=(Raised("RuntimeError", message, (frame,)),))


PASSED, LATE, BOOM, OTHER = Execution(status=OK), Execution(status=TIMEOUT), raised("boom"), raised("another")


def test_the_failure_that_was_reduced_is_the_one_that_is_counted() -> None:
    place = "raised in bug (torch/bug.py)"
    boom = failing_as(f"RuntimeError: boom, {place}", [PASSED, BOOM])
    other = failing_as("RuntimeError: another, raised in elsewhere", [BOOM, OTHER])
    assert boom is not None
    assert other is not None
    runs = [PASSED, BOOM, LATE, OTHER, BOOM, PASSED]
    assert counted(runs, boom, "") == Rate(2, 5)
    assert counted(runs, other, "") == Rate(1, 5)
    assert failing_as(f"RuntimeError: boom, {place}", [PASSED, OTHER, LATE]) is None


def test_the_scripts_are_there() -> None:
    assert len(SCRIPTS) == 2
    assert all(script.is_file() for script in SCRIPTS)

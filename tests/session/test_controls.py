"""What is said of an original that passes no control."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shrinkrepro.oracles.controls import Control
from shrinkrepro.oracles.signature import MISMATCH, Signature
from shrinkrepro.protocol import CONTROL_TRUTH, EXCEPTION, OK, Execution, Job, Raised
from shrinkrepro.session.controls import Controls


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("tied weights", "it also fails with every transform replaced by the plain function: look there first"),
        ("singular matrix", "it fails by ValueError: singular matrix"),
    ],
)
def test_another_failure_of_the_control_is_not_said_to_be_the_same(message: str, said: str) -> None:
    controls = Controls()
    failed = Execution(EXCEPTION, chain=(Raised("ValueError", message),))
    controls.settle("f()", EXCEPTION, lambda jobs: [failed for _ in jobs], 1.0)
    assert controls.chosen == ()
    assert said in controls.fails_all(Signature(EXCEPTION, "ValueError", "tied weights"))


def test_a_control_that_is_too_slow_is_asked_again_of_half_the_program() -> None:
    asked: list[tuple[str, str]] = []
    seconds = {"long program": 9.0, "progr.": 8.0, "pro": 0.1}

    def run(jobs: Sequence[Job]) -> list[Execution]:
        asked.extend((job.mode, job.source) for job in jobs)
        slow = {job.mode: seconds[job.source] if job.mode == CONTROL_TRUTH else 0.1 for job in jobs}
        return [Execution(OK, seconds=slow[job.mode]) for job in jobs]

    controls = Controls()
    controls.settle("long program", MISMATCH, run, 10.0)
    chosen = controls.chosen
    assert chosen is not None
    assert CONTROL_TRUTH not in [control.mode for control in chosen]
    asked.clear()
    assert not controls.reconsider("program", run, 10.0)  # more than half of it
    assert not asked
    assert not controls.reconsider("progr.", run, 10.0)
    assert asked == [(CONTROL_TRUTH, "progr.")]
    assert not controls.reconsider("prog", run, 10.0)  # half of the last one that was asked counts
    assert "finite differences" in controls.reconsider("pro", run, 10.0)
    assert controls.chosen == (*chosen, Control(CONTROL_TRUTH))
    assert not controls.reconsider("p", run, 10.0)
    assert asked == [(CONTROL_TRUTH, "progr."), (CONTROL_TRUTH, "pro")]

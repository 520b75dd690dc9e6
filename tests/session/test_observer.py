"""What is observed of a program, and how many runs that takes."""

from __future__ import annotations

from shrinkrepro.core.program import Program
from shrinkrepro.oracles.controls import Control
from shrinkrepro.protocol import CONTROL_REFERENCE, OBSERVE, OBSERVE_REFERENCE
from shrinkrepro.session.controls import Controls
from shrinkrepro.session.observer import Observer, Wire

PROGRAM = Program.parse("def f(x):\n    return x + 1\nf(2)\n")
HIDDEN: Wire = {"lines": {"2": 1, "3": 1}, "exprs": {}}  # as where a compiler traced f
SEEN: Wire = {
    "lines": {"2": 1, "3": 1},
    "exprs": {"2:11:2:16:BinOp": {"n": 1, "same": True, "v": {"k": "const", "r": "3"}, "t": 0}},
}


def observer(failing: Wire | None) -> tuple[Observer, list[str]]:
    controls = Controls()
    controls.chosen = (Control(CONTROL_REFERENCE),)
    asked: list[str] = []

    def observed(program: Program, mode: str) -> Wire | None:
        asked.append(mode)
        return failing if mode == OBSERVE else SEEN

    return Observer(observed, controls), asked


def test_the_control_is_observed_once_for_what_a_compiler_hid_and_for_the_comparison() -> None:
    found, asked = observer(HIDDEN)
    facts = found.compared(PROGRAM, values=True)
    assert asked == [OBSERVE, OBSERVE_REFERENCE]
    assert len(facts.items()) == len(facts.reference.items()) == 1


def test_where_runs_are_slow_the_control_alone_is_observed() -> None:
    found, asked = observer(HIDDEN)
    assert len(found.facts(PROGRAM, cheaply=True).items()) == 1
    assert asked == [OBSERVE_REFERENCE]


def test_a_failing_run_that_observation_changes_leaves_the_control() -> None:
    found, asked = observer(None)
    assert len(found.facts(PROGRAM, cheaply=False).items()) == 1
    assert asked == [OBSERVE, OBSERVE_REFERENCE]

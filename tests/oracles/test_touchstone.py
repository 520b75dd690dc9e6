"""The touchstone: an oracle made from an original accepts its hand version and refuses its strangers.

The runs are recorded (tests/oracles/record.py); a few are made anew to show that the records are true.
"""

from __future__ import annotations

import dataclasses

import pytest

from shrinkrepro.core.verdict import Outcome
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import signature_of
from tests.oracles.record import CASES, STRANGERS, cases, execution_of, load, run, strangers

NAMES = [row["name"] for row in cases("exception", "crash")]
PAIRS = [(name, path.stem) for name in NAMES for path in strangers(name)]


def oracle_of(name: str) -> Oracle:
    oracle = Oracle.of(load("original", name))
    assert oracle is not None
    return oracle


@pytest.mark.parametrize("name", NAMES)
def test_the_original_is_its_own_failure(name: str) -> None:
    assert oracle_of(name).judge(load("original", name)).interesting


@pytest.mark.parametrize("name", NAMES)
def test_the_hand_version_is_accepted(name: str) -> None:
    source = (CASES / "min" / f"{name}.py").read_text(encoding="utf-8")
    verdict = oracle_of(name).judge(load("min", name), source)
    assert verdict.outcome is Outcome.INTERESTING, verdict.reason


@pytest.mark.parametrize(("name", "stranger"), PAIRS)
def test_a_stranger_is_refused(name: str, stranger: str) -> None:
    source = (STRANGERS / f"{stranger}.py").read_text(encoding="utf-8")
    verdict = oracle_of(name).judge(load("stranger", stranger), source)
    assert verdict.outcome is Outcome.SLIPPED, verdict


def test_a_stranger_to_stack_module_state() -> None:
    oracle = Oracle.of(load("stranger", "ad20_original"))
    assert oracle is not None
    assert oracle.judge(load("stranger", "ad20_original")).interesting
    assert oracle.judge(load("stranger", "ad20_requires_grad")).outcome is Outcome.SLIPPED


@pytest.mark.parametrize("name", NAMES)
def test_no_other_case_is_taken_for_this_one(name: str) -> None:
    oracle = oracle_of(name)
    taken = [other for other in NAMES if other != name and oracle.judge(load("min", other)).interesting]
    assert taken == []


SAME_TEXT = ["ad01", "ad03", "ad14", "ad23", "ad26"]


@pytest.mark.parametrize(("name", "stranger"), [pair for pair in PAIRS if pair[0][:4] in SAME_TEXT])
def test_type_and_message_alone_would_take_the_stranger(name: str, stranger: str) -> None:
    """So the refusal above is the work of place and levels."""
    oracle = dataclasses.replace(oracle_of(name), match="message")
    assert oracle.judge(load("stranger", stranger)).interesting


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "path"),
    [
        ("min", CASES / "min" / "ad01_markdirty_inplace_tangent.py"),
        ("min", CASES / "min" / "vmap06_amp_jacobian.py"),
        ("stranger", STRANGERS / "ad14_old_style_function.py"),
    ],
)
def test_a_record_is_true(role: str, path) -> None:  # type: ignore[no-untyped-def]
    assert signature_of(execution_of(run(path))) == signature_of(load(role, path.stem))

"""When another difference between two values is another bug."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.oracles.mismatch import Difference, change
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import EXCEPTION, Execution, Frame, Raised

KINDS = ("value", "sign", "zero", "nan", "nan on both sides", "inf", "shape", "dtype", "structure")
SIZES = st.floats(1e-12, 2.0)


@given(st.sampled_from(KINDS), SIZES, st.floats(0.11, 100.0))
def test_the_same_kind_at_a_like_size_is_the_same(kind: str, relative: float, factor: float) -> None:
    assert not change(Difference(kind, relative), Difference(kind, relative * factor))


@given(st.sampled_from(KINDS), st.sampled_from(KINDS), SIZES)
def test_a_kind_only_becomes_a_plainer_one(before: str, after: str, relative: float) -> None:
    allowed = before == after or (before == "value" and after in ("sign", "zero"))
    assert bool(change(Difference(before, relative), Difference(after, relative))) is not allowed


def test_a_difference_that_shrank_tenfold_is_another() -> None:
    assert "became 0.019" in change(Difference("value", 0.2), Difference("value", 0.019))


def test_rounding_is_no_bug_unless_the_original_was_that_small() -> None:
    tiny = Difference("value", 2e-5, noise=170.0)
    assert "within rounding" in change(Difference("value", 1.5e-4, noise=1500.0), tiny)
    assert not change(Difference("value", 3e-5, noise=250.0), tiny)
    assert change(None, tiny) == change(tiny, None) == ""


@pytest.mark.parametrize(("found", "same"), [("nan", True), ("value", False), ("nan on both sides", False)])
def test_the_oracle_holds_a_nan_to_a_nan(found: str, same: bool) -> None:
    frame = Frame("script.py", 3, "<module>", False)
    chain = (Raised("AssertionError", "", (frame,)),)
    original = Execution(
        EXCEPTION, chain, difference={"kind": "nan", "relative": 1.0, "dtype": "float32", "noise": 8e6}
    )
    oracle = Oracle.of(original)
    assert oracle is not None
    oracle = Oracle(oracle.signature, difference=Difference.of(original))
    other = Execution(EXCEPTION, chain, difference={"kind": found, "relative": 1.0, "dtype": "float32", "noise": 8e6})
    assert oracle.judge(other).interesting is same
    assert oracle.judge(Execution(EXCEPTION, chain)).interesting  # a fresh run cannot tell

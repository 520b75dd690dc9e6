"""What is said of an original that passes no control."""

from __future__ import annotations

import pytest

from shrinkrepro.oracles.signature import Signature
from shrinkrepro.protocol import EXCEPTION, Execution, Raised
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

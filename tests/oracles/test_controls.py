"""Which controls a kind of failure has, and that users are told of each in words."""

from __future__ import annotations

import pytest

from shrinkrepro import protocol
from shrinkrepro.oracles import controls
from shrinkrepro.oracles.signature import CRASH, EXCEPTION, EXIT, HANG, MISMATCH, WARNING


@pytest.mark.parametrize("kind", [CRASH, EXCEPTION, EXIT, HANG, MISMATCH, WARNING])
def test_every_mode_has_words(kind: str) -> None:
    modes = controls.modes_for(kind)
    assert len(modes) == len(set(modes)) >= 2
    assert all(controls.passes(controls.Control(mode)).startswith("passes when ") for mode in modes)
    assert controls.fails_all(kind)


def test_zeros_are_no_control_for_numbers() -> None:
    assert protocol.PRIMAL not in controls.modes_for(MISMATCH)
    assert controls.modes_for(MISMATCH)[:2] == (protocol.CONTROL_STRICT, protocol.CONTROL_REFERENCE)
    assert controls.observing([controls.Control(protocol.CONTROL_VMAP)]) == protocol.OBSERVE_VMAP
    assert controls.observing([controls.Control(protocol.CONTROL_CPU)]) is None
    assert controls.observing([]) is None

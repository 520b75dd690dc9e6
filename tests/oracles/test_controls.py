"""Which controls a kind of failure has, and that users are told of each in words."""

from __future__ import annotations

import pytest

from shrinkrepro import protocol
from shrinkrepro.errors import UsageError
from shrinkrepro.oracles import controls
from shrinkrepro.oracles.signature import CRASH, EXCEPTION, EXIT, HANG, MISMATCH, WARNING


@pytest.mark.parametrize("kind", [CRASH, EXCEPTION, EXIT, HANG, MISMATCH, WARNING])
def test_every_mode_has_words(kind: str) -> None:
    modes = controls.modes_for(kind)
    assert len(modes) == len(set(modes)) >= 2
    assert all(controls.passes(controls.Control(mode)).startswith("passes ") for mode in modes)
    assert controls.fails_all(kind)
    observed = [controls.observing([controls.Control(mode)]) for mode in modes]
    assert observed[0] is not None


def test_zeros_are_no_control_for_numbers() -> None:
    assert protocol.PRIMAL not in controls.modes_for(MISMATCH)
    assert controls.modes_for(MISMATCH)[:2] == (protocol.CONTROL_STRICT, protocol.CONTROL_REFERENCE)
    assert controls.observing([controls.Control(protocol.CONTROL_VMAP)]) == protocol.OBSERVE_VMAP
    assert controls.observing([controls.Control(protocol.CONTROL_CPU)]) is None
    assert controls.observing([]) is None


def test_controls_by_name() -> None:
    assert controls.named(()) is None
    assert controls.named(["none"]) == ()
    found = controls.named(["vmap", "python=/opt/a/python", "vmap", "primal"])
    assert found is not None
    assert [name for name, _ in found] == ["vmap", "python=/opt/a/python", "primal"]
    assert found[1][1] == (controls.Control(python="/opt/a/python"),)
    assert [control.mode for control in found[2][1]] == [protocol.PRIMAL_STRICT, protocol.PRIMAL]
    for name in controls.NAMES:
        assert controls.fails_too(name).startswith("with ")
    for names in (["eagre"], ["none", "vmap"]):
        with pytest.raises(UsageError):
            controls.named(names)

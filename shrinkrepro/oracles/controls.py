"""Controls: which runs without the bug a failure of each kind is held against, and what is said of them to users.

Decision: the first mode of the list that the original passes is its control, so the lists go from what replaces most to
what replaces least: the more is replaced, the more a program must owe to its transforms alone.
"""

from __future__ import annotations

from shrinkrepro import protocol
from shrinkrepro.oracles.signature import MISMATCH

_PRIMAL = (protocol.PRIMAL_STRICT, protocol.PRIMAL)
_REFERENCE = (
    protocol.CONTROL_REFERENCE,
    protocol.CONTROL_FORWARD,
    protocol.CONTROL_VMAP,
    protocol.CONTROL_COMPILE,
    protocol.CONTROL_DIFFERENCES,  # replaces all as well, but is last: rounding and kinks can make it fail
)
_WORDS = {
    protocol.PRIMAL_STRICT: "passes when every transform is replaced by the plain function",
    protocol.PRIMAL: "passes when every transform is replaced by the plain function",
    protocol.CONTROL_REFERENCE: "passes when every transform is replaced by loops and plain autograd",
    protocol.CONTROL_FORWARD: "passes when forward mode alone is replaced by reverse mode",
    protocol.CONTROL_VMAP: "passes when vmap alone is replaced by a loop",
    protocol.CONTROL_COMPILE: "passes when nothing is compiled",
    protocol.CONTROL_DIFFERENCES: "passes when transforms are replaced by loops and finite differences",
}


def modes_for(kind: str) -> tuple[str, ...]:
    """The modes to try for a signature of ``kind``, the strongest first."""
    return _REFERENCE if kind == MISMATCH else _PRIMAL


def passes(mode: str) -> str:
    """What it means that a program passes the control ``mode``, in words."""
    return _WORDS[mode]


def fails_all(kind: str) -> str:
    """What it means that the original passes none, in words."""
    if kind == MISMATCH:
        return (
            "its check also fails with loops for vmap, plain autograd or finite differences, and no compiler: "
            "look at what it compares with first"
        )
    return "it also fails with every transform replaced by the plain function: look there first"


def observing(control: str | None) -> str | None:
    """The mode that observes a program while its bug is absent; None where its control gives none."""
    if control in _PRIMAL:
        return protocol.OBSERVE_PRIMAL
    return protocol.OBSERVE_REFERENCE if control == protocol.CONTROL_REFERENCE else None

"""Controls: which runs without the bug a failure of each kind is held against, and what is said of them to users.

Decision: the first mode of the list that the original passes is its control, so the lists go from what replaces most to
what replaces least: the more is replaced, the more a program must owe to its transforms alone. Controls that the user
names are all held to, whatever the kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shrinkrepro import protocol
from shrinkrepro.errors import UsageError
from shrinkrepro.oracles.signature import MISMATCH

_PRIMAL = (protocol.PRIMAL_STRICT, protocol.PRIMAL)
_REFERENCE = (
    protocol.CONTROL_STRICT,
    protocol.CONTROL_REFERENCE,
    protocol.CONTROL_FORWARD,
    protocol.CONTROL_VMAP,
    protocol.CONTROL_COMPILE,
    protocol.CONTROL_DIFFERENCES_STRICT,
    protocol.CONTROL_DIFFERENCES,  # replaces all as well, but comes late: rounding and kinks can make it fail
    protocol.CONTROL_FLOAT64,  # before the next, which would say of a rounding error that the transforms made it
    protocol.CONTROL_DIFFERENCES64,
)
# Asked beside a reference, where the original passes it: plain autograd is wrong at places of its own (a matrix that is
# no factor, a norm's third order), and a program that compares with it there is another bug.
_BESIDE = protocol.CONTROL_TRUTH
_OBSERVED = {
    protocol.CONTROL_STRICT: protocol.OBSERVE_REFERENCE,
    protocol.CONTROL_REFERENCE: protocol.OBSERVE_REFERENCE,
    protocol.CONTROL_FORWARD: protocol.OBSERVE_FORWARD,
    protocol.CONTROL_VMAP: protocol.OBSERVE_VMAP,
    protocol.CONTROL_COMPILE: protocol.OBSERVE_COMPILE,
    protocol.CONTROL_DIFFERENCES_STRICT: protocol.OBSERVE_DIFFERENCES,
    protocol.CONTROL_DIFFERENCES: protocol.OBSERVE_DIFFERENCES,
}
NONE = "none"
PYTHON = "python="
NAMES = {  # what a user calls them: the modes of which the first that the original passes is meant
    "primal": _PRIMAL,
    "reference": (protocol.CONTROL_STRICT, protocol.CONTROL_REFERENCE),
    "vmap": (protocol.CONTROL_VMAP,),
    "forward": (protocol.CONTROL_FORWARD,),
    "eager": (protocol.CONTROL_COMPILE,),
    "finite-difference": (
        protocol.CONTROL_DIFFERENCES_STRICT,
        protocol.CONTROL_DIFFERENCES,
        protocol.CONTROL_DIFFERENCES64,
    ),
    "float64": (protocol.CONTROL_FLOAT64,),
    "cpu": (protocol.CONTROL_CPU,),
}
_WORDS = {
    protocol.PRIMAL_STRICT: "passes when every transform is replaced by the plain function",
    protocol.PRIMAL: "passes when every transform is replaced by the plain function",
    protocol.CONTROL_STRICT: "passes when every transform is replaced by loops and plain autograd",
    protocol.CONTROL_REFERENCE: "passes when every transform is replaced by loops and plain autograd",
    protocol.CONTROL_FORWARD: "passes when forward mode alone is replaced by reverse mode",
    protocol.CONTROL_VMAP: "passes when vmap alone is replaced by a loop",
    protocol.CONTROL_COMPILE: "passes when nothing is compiled",
    protocol.CONTROL_DIFFERENCES_STRICT: "passes when transforms are replaced by loops and finite differences",
    protocol.CONTROL_DIFFERENCES: "passes when transforms are replaced by loops and finite differences",
    protocol.CONTROL_DIFFERENCES64: "passes when transforms are replaced by loops and finite differences, in float64",
    protocol.CONTROL_TRUTH: "passes when only derivatives by finite differences take the transforms' place",
    protocol.CONTROL_FLOAT64: "passes in float64",
    protocol.CONTROL_CPU: "passes on the CPU",
}


@dataclass(frozen=True)
class Control:
    """One run that a program has to pass: in ``mode``, by the target's interpreter or by the one at ``python``."""

    mode: str = protocol.RUN
    python: str | None = None


def named(names: Sequence[str]) -> tuple[tuple[str, tuple[Control, ...]], ...] | None:
    """Each of ``names`` (``reference``, ``python=PATH``, ...) once, with the controls of which one is meant by it;
    None where nobody named any.

    Raises:
        UsageError: there is no such control.
    """
    if not names:
        return None
    if NONE in names:
        if set(names) != {NONE}:
            raise UsageError("--control none goes with no other control", "leave one of them out")
        return ()
    found: dict[str, tuple[Control, ...]] = {}
    for name in names:
        if name.startswith(PYTHON):
            found[name] = (Control(python=name[len(PYTHON) :]),)
        elif name in NAMES:
            found[name] = tuple(Control(mode) for mode in NAMES[name])
        else:
            raise UsageError(
                f"--control {name!r} is not known", f"it is one of {', '.join(NAMES)}, {PYTHON}PATH, or {NONE}"
            )
    return tuple(found.items())


def modes_for(kind: str) -> tuple[str, ...]:
    """The modes to try for a signature of ``kind``, the strongest first."""
    return _REFERENCE if kind == MISMATCH else _PRIMAL


def beside(mode: str) -> str | None:
    """The mode that is asked together with ``mode``, where the original passes it; None for none."""
    return _BESIDE if mode in (protocol.CONTROL_STRICT, protocol.CONTROL_REFERENCE) else None


def passes(control: Control) -> str:
    """What it means that a program passes ``control``, in words."""
    return _WORDS[control.mode] if control.python is None else f"passes with {control.python}"


def fails_all(kind: str, otherwise: str = "") -> str:
    """What it means that the original passes none, in words. ``otherwise``: the other failure that it then shows."""
    if kind != MISMATCH and otherwise:
        return f"nothing but the failure holds the result: with zeros for what transforms give it fails by {otherwise}"
    if kind == MISMATCH:
        return (
            "its check also fails with loops for vmap, plain autograd or finite differences, and no compiler: "
            "look at what it compares with first"
        )
    return "it also fails with every transform replaced by the plain function: look there first"


def fails_too(name: str) -> str:
    """What it means that the original fails the control that the user named, in words."""
    what = {
        "primal": "every transform replaced by the plain function",
        "reference": "every transform replaced by loops and plain autograd",
        "vmap": "a loop for vmap",
        "forward": "reverse mode for forward mode",
        "eager": "nothing compiled",
        "finite-difference": "loops and finite differences for the transforms",
        "float64": "float64 for lower precisions",
        "cpu": "everything on the CPU",
    }
    return f"with {what[name]}" if name in what else f"with {name[len(PYTHON) :]}"


def observing(controls: Sequence[Control]) -> str | None:
    """The mode that observes a program while its bug is absent; None where no control gives one."""
    modes = {control.mode for control in controls if control.python is None}
    if modes & set(_PRIMAL):
        return protocol.OBSERVE_PRIMAL
    return next((_OBSERVED[mode] for mode in _REFERENCE if mode in modes & _OBSERVED.keys()), None)

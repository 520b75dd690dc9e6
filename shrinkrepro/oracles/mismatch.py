"""How two values differ that should agree, and when another difference is no longer the same bug.

Decision: a difference may become a plainer one of its kind (a wrong value may turn out to be a zero or a wrong sign),
never one of another kind, and never so small that rounding could be behind it. A run without a description is judged
by its signature alone: a fresh run has no harness that could look at values.
"""

from __future__ import annotations

from dataclasses import dataclass

from shrinkrepro.protocol import Execution

VALUE = "value"
_PLAINER = {VALUE: ("sign", "zero")}  # what a kind may become, beside itself
SHRUNK = 0.1  # of the original's relative difference: below it, another cause is likelier
NOISE = 1e3  # roundings: what long sums and products in a low precision make by themselves


@dataclass(frozen=True)
class Difference:
    """One difference. ``relative`` is the largest gap over the largest value, ``noise`` the same in roundings."""

    kind: str  # value, sign, zero, nan, nan on both sides, inf, shape, dtype or structure
    relative: float
    noise: float | None = None  # None: values of no floating dtype, where nothing is rounded

    @classmethod
    def of(cls, execution: Execution) -> Difference | None:
        """The difference that made ``execution`` fail; None when the run does not tell."""
        wire = execution.difference
        return None if wire is None else cls(wire["kind"], wire["relative"], wire.get("noise"))

    def describe(self) -> str:
        """The difference in words."""
        words = {
            VALUE: f"values differ by {self.relative:.2g} of the largest",
            "sign": "values differ in sign",
            "zero": "one side is zero",
            "nan": "one side is NaN",
            "inf": "one side is infinite",
        }
        return words.get(self.kind, f"{self.kind} differs")


def change(want: Difference | None, found: Difference | None) -> str:
    """Why ``found`` is no longer the difference ``want``, one line; empty when it is, or when one is not known."""
    if want is None or found is None:
        return ""
    if found.kind != want.kind and found.kind not in _PLAINER.get(want.kind, ()):
        return f"difference: {want.kind} became {found.kind}"
    if found.relative < SHRUNK * want.relative:
        return f"difference: {want.relative:.2g} of the largest value became {found.relative:.2g}"
    above = want.noise is None or want.noise >= NOISE
    if above and found.noise is not None and found.noise < NOISE:
        return f"difference: {found.relative:.2g} of the largest value is within rounding"
    return ""

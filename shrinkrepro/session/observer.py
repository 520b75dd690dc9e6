"""What is seen of the current program while it runs: of its failing run, of its control's, or of both.

Decision: where a compiler makes the failing run slow, facts are those of the control, which hides nothing and costs a
small part; the failing run is observed too only for who compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shrinkrepro.core.facts import Facts, completed, unseen_bodies
from shrinkrepro.core.program import Program
from shrinkrepro.oracles.controls import observing
from shrinkrepro.protocol import OBSERVE
from shrinkrepro.session.controls import Controls

Wire = dict[str, Any]


class Observer:
    """Makes facts. ``observed`` gives those of one run in a mode, or None where the run does not end as it should."""

    def __init__(self, observed: Callable[[Program, str], Wire | None], controls: Controls) -> None:
        self._observed = observed
        self._controls = controls

    def facts(self, program: Program, *, cheaply: bool) -> Facts:
        """Facts of ``program``: of its run, completed by its control's where a compiler hid what ran; else none.

        ``cheaply``: of its control's alone, where that shows them.
        """
        other = observing(self._controls.chosen or ())
        wire = self._observed(program, other) if cheaply and other else None
        if wire is None:
            wire = self._failing(program, other)
        return Facts(program.tree, wire) if wire is not None else Facts.none()

    def compared(self, program: Program, *, values: bool) -> Facts:
        """Facts of the failing run of ``program`` beside those of the run without the bug, where ``values`` matter."""
        other = observing(self._controls.chosen or ())
        wire = self._failing(program, other)
        facts = Facts(program.tree, wire) if wire is not None else Facts.none()
        reference = self._observed(program, other) if values and other and facts.known else None
        return facts.against(Facts(program.tree, reference) if reference is not None else Facts.none())

    def _failing(self, program: Program, other: str | None) -> Wire | None:
        wire = self._observed(program, OBSERVE)
        if wire is None or other is None:
            return wire if wire is not None else self._observed(program, other) if other else None
        bodies = unseen_bodies(program.tree, wire)
        return completed(wire, self._observed(program, other) or {}, bodies) if bodies else wire

"""What is seen of the current program while it runs: of its failing run, of its control's, or of both.

Decision: where a compiler makes the failing run slow, facts are those of the control, which hides nothing and costs a
small part; the failing run is observed too only for who compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
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
        control = self._control(program)
        wire = control() if cheaply else None
        if wire is None:
            wire = self._failing(program, control)
        return Facts(program.tree, wire) if wire is not None else Facts.none()

    def compared(self, program: Program, *, values: bool) -> Facts:
        """Facts of the failing run of ``program`` beside those of the run without the bug, where ``values`` matter."""
        control = self._control(program)
        wire = self._failing(program, control)
        facts = Facts(program.tree, wire) if wire is not None else Facts.none()
        reference = control() if values and facts.known else None
        return facts.against(Facts(program.tree, reference) if reference is not None else Facts.none())

    def _failing(self, program: Program, control: Callable[[], Wire | None]) -> Wire | None:
        wire = self._observed(program, OBSERVE)
        if wire is None:
            return control()
        bodies = unseen_bodies(program.tree, wire)
        return completed(wire, control() or {}, bodies) if bodies else wire

    def _control(self, program: Program) -> Callable[[], Wire | None]:
        """What gives the facts of the control's run: None where it shows none, and run once however often asked."""
        mode = observing(self._controls.chosen or ())
        return cache(lambda: self._observed(program, mode) if mode is not None else None)

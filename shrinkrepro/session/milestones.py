"""Milestones: when a fresh interpreter is asked whether it shows what a warm server shows.

Decision: a crash needs it, for a server's memory is not laid out like that of an interpreter of its own. But a fresh
run costs as much as fifty queries and servers seldom mislead, so only a program that is much smaller than the last one
that was looked at is. Where one does not hold, the search goes back to the last that did, and looks at each from then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shrinkrepro.core.program import count_tokens
from shrinkrepro.protocol import Execution, from_wire, to_wire
from shrinkrepro.session.journal import Journal
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.target import Target

SMALLER = 2 / 3  # of the tokens of the last program that was looked at
APART = 10  # programs between two that are looked at, at most


class Drifted(Exception):
    """What was adopted meanwhile fails in a server only."""


@dataclass(frozen=True)
class FreshRuns:
    """Runs in a fresh interpreter of ``target``, at most ``limit`` seconds each; the journal remembers them."""

    target: Target
    fingerprint: str
    limit: float
    journal: Journal | None

    def run(self, source: str) -> Execution:
        """What ``source`` does there."""

        def make() -> dict[str, Any]:
            return to_wire(run_fresh(self.target, source, self.limit))

        if self.journal is None:
            return run_fresh(self.target, source, self.limit)
        return from_wire(self.journal.remember(json.dumps(["fresh", self.fingerprint, source]), make))


class Milestones:
    """Answers for one reduction. ``shows`` runs a program in a fresh interpreter: whether it fails the same there."""

    def __init__(self, shows: Callable[[str], bool]) -> None:
        self._shows = shows
        self._held: set[str] = set()
        self._tokens: float = 0.0  # of the last program that was looked at; 0 before the first
        self._passed: list[str] = []  # taken unseen since then
        self._careful = False

    def holds(self, source: str) -> bool:
        """Whether ``source`` may be adopted: looked at where it is a milestone, else taken unseen.

        Raises:
            Drifted: it does not hold, and neither does what was taken unseen before it.
        """
        tokens = count_tokens(source)
        if not self._careful and tokens > SMALLER * self._tokens > 0 and len(self._passed) < APART:
            self._passed.append(source)
            return True
        if self._looked(source):
            self._tokens, self._passed = tokens, []
            return True
        before, self._passed = self._passed, []
        if before and not self._looked(before[-1]):
            self._careful = True
            raise Drifted
        return False

    def last_good(self, sources: Sequence[str]) -> int:
        """The number of the last of ``sources``, which were adopted one after the other, that a fresh interpreter
        shows; -1 where none is. All that are adopted from then on are looked at, unless it is the last one."""
        found = next((k for k in reversed(range(len(sources))) if self._looked(sources[k])), -1)
        self._careful = self._careful or found < len(sources) - 1
        self._passed = []
        return found

    def _looked(self, source: str) -> bool:
        if source not in self._held and self._shows(source):
            self._held.add(source)
        return source in self._held

"""What workers ask before they run something, and tell when they did: the door of a journal.

Decision: a question is asked by its text and its turn (the second time that the same is run is another run), and in
the order in which the runs were asked for. So a caller that asks the same again is answered the same again, whatever
order the answers once came in.
"""

from __future__ import annotations

from typing import Any, Protocol

Ticket = tuple[bytes, int]  # the question's digest and its turn


class Memory(Protocol):
    """Answers to earlier questions. ``keep`` may be called by several threads."""

    def recall(self, question: str) -> tuple[Ticket, Any]:
        """The ticket for the answer to ``question``, and the answer (JSON types), or None when it is not known."""

    def keep(self, ticket: Ticket, answer: Any) -> None:
        """Remember the answer (JSON types, and wire messages as they are) that ``ticket`` stands for."""

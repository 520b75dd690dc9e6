"""Progress as plain lines, for logs, pipes and people who want no display.

Decision: progress goes to stderr; stdout is for the result. A line a second at most, so that a log of a
long run stays readable.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from shrinkrepro.session import Counts

_LINE_EVERY = 1.0  # seconds


class Quiet:
    """A progress that says nothing."""

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def phase(self, text: str) -> None:
        """Nothing."""

    def step(self, strategy: str, source: str, tokens: int) -> None:
        """Nothing."""

    def query(self, counts: Counts, strategy: str) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


class Lines:
    """A line for each phase, and at most one a second for the steps between them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._start = time.monotonic()
        self._last = float("-inf")  # when a step was printed
        self._pending = ""
        self._counts: Counts | None = None
        self._tokens: int | None = None
        self._pace = Pace()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._flush()

    def phase(self, text: str) -> None:
        """Print the phase."""
        self._flush()
        self._pace.begin(self._counts)
        self._print(text)

    def step(self, strategy: str, source: str, tokens: int) -> None:
        """Print the size and the strategy, or keep them for the next line."""
        before = "" if self._tokens is None else f"{self._tokens} -> "
        self._tokens = tokens
        self._pending = f"{before}{tokens} tokens, {strategy}, {self._pace.words(self._counts)}"
        if self._elapsed() - self._last >= _LINE_EVERY:
            self._flush()

    def query(self, counts: Counts, strategy: str) -> None:
        """Keep the counts for the next line."""
        self._counts = counts

    def note(self, text: str) -> None:
        """Print the note."""
        self._flush()
        self._print(f"note: {text}")

    def _elapsed(self) -> float:
        return time.monotonic() - self._start

    def _flush(self) -> None:
        if self._pending:
            self._print(self._pending)
            self._pending = ""
            self._last = self._elapsed()

    def _print(self, text: str) -> None:
        print(f"{self._elapsed():6.1f}s  {text}", file=self._stream, flush=True)


class Pace:
    """How fast queries are, measured over the current phase: starting up is not reducing."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._run = 0

    def begin(self, counts: Counts | None) -> None:
        """A new phase begins with ``counts``."""
        self._since, self._run = time.monotonic(), counts.run if counts is not None else 0

    def words(self, counts: Counts | None) -> str:
        """Queries so far, and how many a second in this phase."""
        if counts is None:
            return "no queries"
        return f"{counts.run} queries ({(counts.run - self._run) / max(time.monotonic() - self._since, 1e-9):.0f}/s)"

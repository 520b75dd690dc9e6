"""The live display of a run on a terminal: the numbers above, the program as it shrinks below.

Decision: the run only stores values here; a thread of rich's draws them a few times a second, so that a
thousand queries a second cost the display nothing.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from shrinkrepro.core.program import count_tokens
from shrinkrepro.report.progress import Pace

if TYPE_CHECKING:
    from shrinkrepro.session import Counts

_FRAMES = 4  # a second: smooth to the eye, and little work on a machine that is busy reducing
_HEADER_LINES = 7  # what the numbers and the rules take of the terminal's height
_VERDICT_STYLES = {
    "interesting": "green",
    "slipped": "yellow",
    "passed": "dim",
    "invalid": "dim",
    "unresolved": "magenta",
    "flaky": "yellow",
}


class Display:
    """A progress that draws itself. ``budget`` is in seconds; ``source`` is the program at the start."""

    def __init__(self, console: Console, source: str, budget: float) -> None:
        self._console = console
        self._budget = budget
        self._start = time.monotonic()
        self._source = source
        self._before = self._tokens = _tokens(source)
        self._phase = "starting"
        self._strategy = ""
        self._counts: Counts | None = None
        self._pace = Pace()
        self._drawn: tuple[str, int, Syntax] | None = None
        self._live = Live(
            console=console, get_renderable=self._draw, refresh_per_second=_FRAMES, transient=True, screen=False
        )

    def __enter__(self) -> Display:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._live.stop()

    def phase(self, text: str) -> None:
        """Show the phase."""
        self._phase, self._strategy = text, ""
        self._pace.begin(self._counts)

    def step(self, strategy: str, source: str, tokens: int) -> None:
        """Show the smaller program."""
        self._before = max(self._before, tokens)  # the first step has folded the local modules in
        self._strategy, self._source, self._tokens = strategy, source, tokens

    def query(self, counts: Counts, strategy: str) -> None:
        """Show the counts and the pass at work."""
        self._counts, self._strategy = counts, strategy

    def note(self, text: str) -> None:
        """Leave a line above the display."""
        self._console.print(Text.assemble(("note: ", "yellow"), text))

    def _draw(self) -> RenderableType:
        seconds = time.monotonic() - self._start
        table = Table.grid(padding=(0, 3))
        table.add_row(_labelled("phase", self._phase), _labelled("pass", self._strategy or "-"))
        table.add_row(
            _labelled("size", f"{self._before} -> {self._tokens} tokens"),
            Text(self._pace.words(self._counts) + _saved(self._counts)),
        )
        table.add_row(_labelled("time", self._time(seconds)), _verdicts(self._counts))
        return Group(Rule("shrinkrepro", style="dim"), table, Rule(style="dim"), self._program())

    def _time(self, seconds: float) -> str:
        return f"{seconds:.0f} s, {max(0.0, self._budget - seconds):.0f} s left"

    def _program(self) -> Syntax:
        room = max(5, self._console.size.height - _HEADER_LINES)
        if self._drawn is None or self._drawn[:2] != (self._source, room):
            lines = self._source.splitlines()
            shown = lines if len(lines) <= room else [*lines[: room - 1], f"# ... {len(lines) - room + 1} more lines"]
            self._drawn = (self._source, room, highlighted("\n".join(shown)))
        return self._drawn[2]


def highlighted(source: str) -> Syntax:
    """``source`` in the terminal's own colours."""
    return Syntax(source, "python", theme="ansi_dark", background_color="default", word_wrap=False)


def _labelled(label: str, value: str) -> Text:
    return Text.assemble((f"{label} ", "dim"), value)


def _saved(counts: Counts | None) -> str:
    return f", {counts.cached} cached, {counts.filtered} filtered" if counts is not None else ""


def _verdicts(counts: Counts | None) -> Text:
    text = Text.assemble(("verdicts ", "dim"))
    for i, (outcome, number) in enumerate(counts.by_outcome.items() if counts is not None else ()):
        text.append(f"{', ' if i else ''}{number} {outcome}", _VERDICT_STYLES.get(outcome, ""))
    return text


def _tokens(source: str) -> int:
    try:
        return count_tokens(source)
    except (SyntaxError, ValueError):  # told by the run's own checks, in better words
        return 0

"""A batch as it goes on: one live table on a terminal, plain lines anywhere else.

Decision: the run only stores values here, as with the display of a single reduction; what is drawn is the stage, the
scripts under way, and the groups so far.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

_FRAMES = 4  # a second
_FIXED_LINES = 9  # of the terminal's height: rules, stage, heads
_UNDER_WAY = 8  # scripts under way that are shown


class BatchLines:
    """A line for each stage and for each script that ends."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._start = time.monotonic()
        self._done = self._total = 0

    def __enter__(self) -> BatchLines:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        return None

    def stage(self, text: str, total: int) -> None:
        """Print the stage."""
        self._done, self._total = 0, total
        if total:
            self._print(f"{text}: {total}")

    def began(self, script: str, worker: str) -> None:
        """Nothing: a line is printed when it ends."""

    def smaller(self, script: str, tokens: int) -> None:
        """Nothing."""

    def ended(self, script: str, outcome: str) -> None:
        """Print what became of it."""
        self._done += 1
        self._total = max(self._total, self._done)
        self._print(f"{self._done}/{self._total}  {script}  {outcome}")

    def groups(self, found: Sequence[tuple[str, int, str]]) -> None:
        """Nothing: they stand in the index."""

    def note(self, text: str) -> None:
        """Print the note."""
        self._print(f"note: {text}")

    def _print(self, text: str) -> None:
        print(f"{time.monotonic() - self._start:6.1f}s  {text}", file=self._stream, flush=True)


class BatchQuiet(BatchLines):
    """Says nothing."""

    def _print(self, text: str) -> None:
        pass


class BatchTable:
    """A progress that draws itself."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = time.monotonic()
        self._stage, self._done, self._total = "starting", 0, 0
        self._under_way: dict[str, tuple[float, int]] = {}  # script -> since when, tokens so far
        self._groups: tuple[tuple[str, int, str], ...] = ()
        self._last = ""
        self._live = Live(
            console=console, get_renderable=self._draw, refresh_per_second=_FRAMES, transient=True, screen=False
        )

    def __enter__(self) -> BatchTable:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._live.stop()

    def stage(self, text: str, total: int) -> None:
        """Show the stage."""
        self._stage, self._done, self._total = text, 0, total

    def began(self, script: str, worker: str) -> None:
        """Show the script among those under way."""
        self._under_way = {**self._under_way, script: (time.monotonic(), 0)}

    def smaller(self, script: str, tokens: int) -> None:
        """Show the size that it has come down to."""
        since = self._under_way.get(script, (time.monotonic(), 0))[0]
        self._under_way = {**self._under_way, script: (since, tokens)}

    def ended(self, script: str, outcome: str) -> None:
        """Count it."""
        self._done += 1
        self._total = max(self._total, self._done)
        self._under_way = {name: value for name, value in self._under_way.items() if name != script}
        self._last = f"{script}: {outcome}"

    def groups(self, found: Sequence[tuple[str, int, str]]) -> None:
        """Show the groups."""
        self._groups = tuple(found)

    def note(self, text: str) -> None:
        """Leave a line above the table."""
        self._console.print(Text.assemble(("note: ", "yellow"), text))

    def _draw(self) -> RenderableType:
        now = time.monotonic()
        head = Table.grid(padding=(0, 3))
        head.add_row(
            Text.assemble(("stage ", "dim"), f"{self._stage}, {self._done} of {self._total}"),
            Text.assemble(("time ", "dim"), f"{now - self._start:.0f} s"),
        )
        shown = list(self._under_way.items())[:_UNDER_WAY]
        running = Table.grid(padding=(0, 2))
        for name, (since, tokens) in shown:
            running.add_row(Text(f"{now - since:4.0f} s"), Text(f"{tokens} tokens" if tokens else ""), Text(name))
        room = max(3, self._console.size.height - _FIXED_LINES - len(shown))
        groups = Table(box=None, padding=(0, 2), pad_edge=False)
        groups.add_column("scripts", justify="right")
        groups.add_column("bug", no_wrap=True, overflow="ellipsis", ratio=1)
        groups.add_column("reduced to")
        for title, count, state in self._groups[:room]:
            groups.add_row(str(count), Text(title), state)
        more = len(self._groups) - room
        parts: list[RenderableType] = [Rule("shrinkrepro batch", style="dim"), head, running, Rule(style="dim"), groups]
        if more > 0:
            parts.append(Text(f"... {more} more", style="dim"))
        return Group(*parts, Text(self._last, style="dim", no_wrap=True, overflow="ellipsis"))

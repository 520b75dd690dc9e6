"""The best so far on the disk, and the result in its place at the end.

Decision: the best so far has a name and a first line of its own, so that it is never taken for a result that was
confirmed; it is replaced whole after every step, and gone once the result is written.
"""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Callable
from pathlib import Path

from shrinkrepro.errors import UsageError
from shrinkrepro.report.files import write_whole

MARK = "# shrinkrepro: the best so far of a run that has not ended; the same command goes on from here\n"


def partial_path(output: Path) -> Path:
    """Where the best so far of a run stands whose result goes to ``output``: ``x_reduced.partial.py``."""
    return output.with_name(f"{output.stem}.partial{output.suffix}")


class Best:
    """The two files of one run. ``say`` is told once, in a line, when the best so far cannot be written."""

    def __init__(self, output: Path, say: Callable[[str], None]) -> None:
        self.output = output
        self.partial = partial_path(output)
        self._say = say
        self._able = not self.partial.exists() or self._ours()
        if not self._able:
            say(f"{self.partial} is another file, so the best so far is kept by the journal alone")

    def step(self, source: str) -> None:
        """Put ``source`` in the place of the best so far."""
        if not self._able:
            return
        try:
            write_whole(self.partial, MARK + source)
        except UsageError as error:
            self._able = False
            self._say(f"{error.message}: the best so far is kept by the journal alone")

    def end(self, source: str) -> str:
        """Write the result; why that cannot be done, or the empty string."""
        try:
            write_whole(self.output, source)
        except UsageError as error:
            return error.message
        with contextlib.suppress(OSError):
            if self.partial.exists() and self._ours():
                self.partial.unlink()
            for torn in self.partial.parent.glob(f".{glob.escape(self.partial.name)}.*.tmp"):
                torn.unlink()  # of a run that was killed as it wrote
        return ""

    def _ours(self) -> bool:
        try:
            with open(self.partial, encoding="utf-8", errors="replace") as file:
                return file.readline() == MARK
        except OSError:
            return False

"""The console that commands print on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from shrinkrepro.report.progress import Lines, Quiet


def console(no_color: bool, *, stderr: bool = False) -> Console:
    """A console that prints text as it is; rich itself honours ``NO_COLOR`` and pipes."""
    from rich.console import Console

    return Console(stderr=stderr, no_color=True if no_color else None, highlight=False, emoji=False, markup=False)


def lines(quiet: bool) -> Lines | Quiet:
    """Progress in plain lines on stderr, for commands that are over soon."""
    import sys

    from shrinkrepro.report.progress import Lines, Quiet

    return Quiet() if quiet else Lines(sys.stderr)

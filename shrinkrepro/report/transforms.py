"""What each transform did to a function, as text: a pure function of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from shrinkrepro.tasks.function import TransformsResult

_STYLES = {"fails": "bold red", "rounding": "yellow", "agrees": "green"}


def print_transforms(console: Console, result: TransformsResult) -> None:
    """Print a line for each transform, and below those that fail the command to type next."""
    width = max((len(row.transform) for row in result.rows), default=0)
    for row in result.rows:
        parts = Text(f"{row.transform:<{width}}  ")
        parts.append(f"{row.outcome:<15}", _STYLES.get(row.outcome, "dim"))
        if row.detail:
            parts.append(row.detail, "" if row.outcome in _STYLES else "dim")
        parts.rstrip()
        console.print(parts, soft_wrap=True)
    commands = [row.command for row in result.rows if row.command]
    if commands:
        console.print()
        console.print(Text("next, one of", "bold"))
    for command in commands:
        console.print(Text(f"  {command}"), soft_wrap=True)

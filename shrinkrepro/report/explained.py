"""A neighbourhood as text for the terminal, and as a folder of scripts: pure functions of the result.

Decision: an outcome is told by a word and a sign, never by its colour alone.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from shrinkrepro.tasks.explain import ExplainResult, Row

SIGNS = {"passes": "+", "fails the same": "x", "fails otherwise": "~", "not settled": "?"}
_STYLES = {"passes": "green", "fails the same": "red", "fails otherwise": "yellow", "not settled": "dim"}
_DETAIL = 100  # characters of another failure that are shown
_NAME = re.compile(r"[^a-z0-9]+")


def print_explained(console: Console, result: ExplainResult) -> None:
    """Print a line for each neighbour, and the nearest one that passes as a diff."""
    console.print(Text.assemble(("failure    ", "bold"), result.failure), soft_wrap=True)
    console.print(Text.assemble(("torch      ", "bold"), f"{result.torch}, Python {result.python}"), soft_wrap=True)
    console.print()
    width = max((len(row.title) for row in result.rows), default=0)
    for group, rows in groupby(result.rows, key=lambda row: row.group):
        for i, row in enumerate(rows):
            line = Text(f"{group if i == 0 else '':<14}{row.title:<{width}}  ")
            line.append(f"{SIGNS[row.outcome]} {row.outcome}", _STYLES[row.outcome])
            line.append(f": {short(row.detail)}" if row.detail else "", "dim")
            console.print(line, soft_wrap=True)
    for one in result.not_asked:
        console.print(Text(f"not asked, its time was up: {one}", "dim"), soft_wrap=True)
    for finding in result.findings:
        console.print(Text(f"finding: {finding}"), soft_wrap=True)
    console.print()
    if result.nearest is None:
        console.print(Text("no neighbour passes" if result.rows else "no neighbour was run"))
        return
    console.print(Text.assemble(("nearest neighbour that passes: ", "bold"), result.nearest.title), soft_wrap=True)
    for line_text in result.diff.splitlines():
        style = {"+": "green", "-": "red", "@": "dim"}.get(line_text[:1], "")
        console.print(Text(line_text, style), soft_wrap=True)


def short(text: str) -> str:
    """The first characters of ``text`` in one line."""
    line = " ".join(text.split())
    return line if len(line) <= _DETAIL else line[: _DETAIL - 1].rstrip() + "…"


def scripts(result: ExplainResult) -> dict[str, str]:
    """Every neighbour that was run as a script of its own, by file name; what it did stands in its first line."""
    found: dict[str, str] = {}
    for i, row in enumerate(result.rows, 1):
        found[f"{i:02}_{file_name(row)}.py"] = f"# {row.group}: {row.title}: {row.outcome}\n{row.source}"
    return found


def file_name(row: Row) -> str:
    """A name for the file of ``row``."""
    return _NAME.sub("_", f"{row.group} {row.title}".lower()).strip("_")[:60]

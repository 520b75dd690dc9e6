"""A bug report as one HTML file: everything that it needs stands in it, and it asks no network for anything.

Decision: the page is made from its template once; its script only chooses which of the parts that are there is shown.
So it reads and prints without the script too. Long reductions leave out full texts before they leave out steps.
"""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from shrinkrepro.errors import UsageError
from shrinkrepro.report.curve import curve, measured
from shrinkrepro.report.pages import template

if TYPE_CHECKING:
    from shrinkrepro.report.bug import Bug, NeighbourRow, Step

LIMIT = 3_000_000  # bytes of the file
_TEXTS = 1_500_000  # bytes of all programs and diffs together
_MARKUP = 32  # bytes around each line of a diff
_LINES = 400  # of one program that is shown whole
_CURVES = (("queries", 860), ("seconds", 860), ("queries", 400), ("seconds", 400))
_MARKS = {"passes": ("✓", "passes"), "fails the same": ("✗", "same"), "fails otherwise": ("≠", "other")}


@dataclass(frozen=True)
class _Shown:
    """One accepted program as the slider shows it."""

    number: int
    strategy: str
    tokens: int
    when: str
    lines: tuple[tuple[str, str], ...]  # class (add, del, hunk or empty) and text of each line of the diff
    program: str  # empty where it is too long


def check_libraries() -> None:
    """Make sure that the libraries are there which make the page.

    Raises:
        UsageError: they are not installed.
    """
    missing = [name for name in ("jinja2", "vl_convert") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"an HTML report needs {' and '.join(missing)}, not installed here", 'pip install "shrinkrepro[report]"'
        )


def html(bug: Bug) -> str:
    """The page.

    Raises:
        UsageError: the libraries for it are not installed, or the program is too long for a page.
    """
    check_libraries()
    curves = (
        [(over, "wide" if width > 500 else "narrow", curve(bug.steps, over, width)) for over, width in _CURVES]
        if measured(bug.steps)
        else []
    )
    page = template("report.html.j2").render(
        bug=bug,
        curves=curves,
        steps=_shown(bug.steps),
        groups=_groups(bug.rows),
        diff=_diff_lines(bug.diff),
        marks=_MARKS,
        outcomes=[(what, mark, sum(row.outcome == what for row in bug.rows)) for what, (mark, _) in _MARKS.items()],
    )
    size = len(page.encode("utf-8"))
    if size > LIMIT:
        raise UsageError(f"the page would have {size:,} bytes, more than {LIMIT:,}", "write Markdown: -o FILE.md")
    return page


def _groups(rows: Sequence[NeighbourRow]) -> list[dict[str, Any]]:
    found = []
    for group, members in groupby(rows, key=lambda row: row.group):
        cells = []
        for row in members:
            mark, kind = _MARKS.get(row.outcome, ("?", "open"))
            cells.append({"title": row.title, "outcome": row.outcome, "detail": row.detail, "mark": mark, "kind": kind,
                          "source": row.source})  # fmt: skip
        found.append({"name": group.replace("_", " "), "cells": cells})
    return found


def _shown(steps: Sequence[Step]) -> list[_Shown]:
    """The accepted programs with their diffs, as many of them whole as there is room for."""
    found, room, before = [], _TEXTS, ""
    whole = sum(len(step.source) for step in steps) <= room // 2
    for number, step in enumerate(steps):
        diff = "\n".join(
            difflib.unified_diff(before.splitlines(), step.source.splitlines(), "before", "after", lineterm="", n=3)
        )
        lines = _diff_lines(diff) if number else ()
        short = step.source.count("\n") <= _LINES and (whole or number == len(steps) - 1)
        size = sum(len(text) + _MARKUP for _, text in lines) + (len(step.source) if short else 0)
        if size > room:
            lines, short = (("hunk", "(too long to be shown here)"),), False
        room -= min(size, room)
        when = f"{step.queries} queries, {step.seconds:.1f} s" if step.queries >= 0 else ""
        found.append(_Shown(number, step.strategy, step.tokens, when, lines, step.source if short else ""))
        before = step.source
    return found


def _diff_lines(diff: str) -> tuple[tuple[str, str], ...]:
    kinds = {"+": "add", "-": "del", "@": "hunk"}
    lines = [line for line in diff.splitlines() if not line.startswith(("--- ", "+++ "))]
    return tuple((kinds.get(line[:1], ""), line) for line in lines)

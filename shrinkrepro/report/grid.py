"""A matrix and a bisection as text: pure functions of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shrinkrepro.tasks.bisect import Bisection
    from shrinkrepro.tasks.replay import ReplayResult
    from shrinkrepro.tasks.replayer import Replayed


def grid(result: ReplayResult) -> list[str]:
    """For each case its failure, and a line for each target: torch, Python, device, status, and what fails now."""
    lines: list[str] = []
    for path in dict.fromkeys(row.path for row in result.rows):
        mine = [row for row in result.rows if row.path == path]
        lines += ["", f"{mine[0].name}: {mine[0].want or mine[0].detail}"]
        lines += _aligned([_cells(row) for row in mine if row.torch])
    return lines[1:] if lines else lines


def turn(result: Bisection) -> list[str]:
    """What was run, oldest torch first, and between which two it turned."""
    lines = [f"{result.rows[0].name}: {result.rows[0].want}", *_aligned([_cells(row) for row in result.rows])]
    if result.turn is None:
        lines.append(f"it does not turn between torch {result.torches[0]} and {result.torches[-1]}")
    else:
        old, new = result.turn
        lines.append(f"it turned between torch {old.torch} ({old.status}) and {new.torch} ({new.status})")
    return lines


def _cells(row: Replayed) -> list[str]:
    said = row.found if row.status in ("changed", "flaky") else row.detail
    return [f"  torch {row.torch}", f"Python {row.version}", row.device, row.status, said]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))] if rows else []
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows]

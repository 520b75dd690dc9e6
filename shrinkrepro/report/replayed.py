"""What a replay found, as a table, as lines and as JSON: pure functions of its result.

Decision: what is as expected is one row; what is not is told in full below the table, a changed failure with both
signatures one above the other, because that is what one asks first.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from shrinkrepro.tasks.replay import ReplayResult
    from shrinkrepro.tasks.replayer import Replayed

_STYLES = {
    "fails": "yellow",
    "fixed": "green",
    "changed": "magenta",
    "flaky": "cyan",
    "unsupported": "dim",
    "error": "red",
}
_OUTPUT_LINES = 4


def print_replay(console: Console, result: ReplayResult) -> None:
    """Print the replay: a table on a terminal, a line for each case elsewhere."""
    columns = columns_of(result.rows)
    if console.is_terminal:
        console.print(_table(result.rows, columns))
    else:
        for line in lines(result.rows, columns):
            console.print(Text(line), soft_wrap=True)
    for row in result.unexpected:
        console.print()
        for label, value in story(row, several=len(columns) > 1):
            console.print(Text.assemble((f"{label:<10} ", "bold"), value), soft_wrap=True)
    console.print()
    console.print(Text(summary(result), style="green" if result.ok else "red"), soft_wrap=True)


def columns_of(rows: Sequence[Replayed]) -> list[tuple[str, str]]:
    """The targets, as (torch, device) or (python, device) where two have the same torch, in the order of the rows."""
    return list(dict.fromkeys(_column(row) for row in rows if row.torch))


def _column(row: Replayed) -> tuple[str, str]:
    return f"{row.torch} ({row.python})" if row.python else row.torch, row.device


def cells(rows: Sequence[Replayed], columns: Sequence[tuple[str, str]]) -> list[tuple[str, list[str], str]]:
    """For each case its name, its status on each target, and its title; a ``!`` stands by what is not as expected."""
    names = list(dict.fromkeys((row.name, row.path) for row in rows))
    found = []
    for name, path in names:
        mine = [row for row in rows if row.path == path]
        statuses = {_column(row): word(row) for row in mine}
        alone = next((word(row) for row in mine if not row.torch), "")
        found.append((name, [statuses.get(column, alone) for column in columns] or [alone], _about(mine[0])))
    return found


def word(row: Replayed) -> str:
    """The status, marked where it is not as expected."""
    return row.status if row.as_expected else f"{row.status} !"


def _about(row: Replayed) -> str:
    return row.title or row.want or row.detail


def header(columns: Sequence[tuple[str, str]]) -> list[str]:
    """What is written above each target's statuses: no more than tells them apart."""
    devices, torches = {device for _, device in columns}, [torch.partition(" (")[0] for torch, _ in columns]
    found = []
    for (torch, device), short in zip(columns, torches):
        same = torches.count(short) > 1 and len({name for name, _ in columns if name.startswith(f"{short} (")}) > 1
        found.append(f"torch {torch if same else short}" + (f", {device}" if len(devices) > 1 else ""))
    return found


def lines(rows: Sequence[Replayed], columns: Sequence[tuple[str, str]]) -> list[str]:
    """A line for each case: statuses, name, title."""
    found = []
    table = cells(rows, columns)
    width = max((len(name) for name, _, _ in table), default=0)
    if len(columns) > 1:
        found.append("  ".join(header(columns)))
    for name, statuses, title in table:
        found.append(f"{'  '.join(f'{status:<13}' for status in statuses)}  {name:<{width}}  {title}".rstrip())
    return found


def _table(rows: Sequence[Replayed], columns: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("case", no_wrap=True)
    for name in header(columns) or ["status"]:
        table.add_column(name, no_wrap=True)
    table.add_column("", overflow="ellipsis", no_wrap=True, style="dim")
    for name, statuses, title in cells(rows, columns):
        colored = [Text(status, style=_STYLES.get(status.partition(" ")[0], "")) for status in statuses]
        table.add_row(Text(name), *colored, Text(title))
    return table


def story(row: Replayed, several: bool = False) -> list[tuple[str, str]]:
    """All that a reader needs of one row that is not as expected, as label and value."""
    where = f" on torch {row.torch}, {row.device} ({row.python})" if several and row.torch else ""
    expected = f", expected {row.expected}" if row.expected else ""
    found = [(row.name, f"{row.status}{expected}{where}")]
    if row.status == "error":
        found.append(("problem", row.detail))
        if row.hint:
            found.append(("hint", row.hint))
        return found
    found.append(("was", row.want or "no failure"))
    found.append(("is now", row.found or "no failure: it ends normally"))
    if row.detail:
        found.append(("detail", row.detail))
    if row.origin:
        found.append(("origin", row.origin))
    output = row.output.splitlines()[-_OUTPUT_LINES:] if row.found else []
    found += [("output" if index == 0 else "", line) for index, line in enumerate(output)]
    found.append(("file", row.path))
    return found


def summary(result: ReplayResult) -> str:
    """One line: how many of each status, how many not as expected, how long."""
    counts = Counter(row.status for row in result.rows)
    words = ", ".join(f"{counts[status]} {status}" for status in _STYLES if counts[status])
    wrong = len(result.unexpected)
    verdict = "all as expected" if not wrong else f"{wrong} not as expected"
    line = f"{verdict}: {words} in {result.seconds:.1f} s"
    if result.cost is not None:
        line += f" ({result.cost.ratio:.3f} of the time of python case.py for each)"
    return line


def replay_json(result: ReplayResult) -> str:
    """The whole result as JSON."""
    data = dataclasses.asdict(result)
    data["ok"] = result.ok
    if result.cost is not None:
        data["cost"]["ratio"] = round(result.cost.ratio, 4)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"

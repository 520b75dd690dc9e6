"""The index of a batch: one JSON file for programs, Markdown and a page for people, all of the same result.

Decision: the page needs nothing but itself and the case files beside it; where the library that makes it is missing,
the other two are written all the same.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from typing import TYPE_CHECKING

from shrinkrepro.report.pages import template

if TYPE_CHECKING:
    from shrinkrepro.tasks.batch_request import BatchResult, ScriptRow

FORMAT = 1
_KINDS = {"check": "checking", "reduce": "reducing", "case": "writing cases"}


def index_json(result: BatchResult, version: str) -> str:
    """Everything, as JSON."""
    data = {"format": FORMAT, "shrinkrepro": version, **dataclasses.asdict(result)}
    return json.dumps(data, indent=2) + "\n"


def headline(result: BatchResult) -> str:
    """What was found, in a line."""
    failing = sum(len(group.scripts) for group in result.groups)
    return f"{_count(failing, 'failing script')}, {_count(len(result.groups), 'bug')}"


def summary(result: BatchResult) -> str:
    """The counts of all scripts, and how the run ended, in a line or two."""
    waiting = result.count("waiting")
    parts = [
        f"{_count(len(result.rows), 'script')}: {result.count('reduced')} reduced",
        f"{result.count('same bug')} with a bug that another shows smaller",
        f"{result.count('not reduced')} not reduced",
        f"{result.count('passes')} without a failure",
        f"{result.count('refused')} that cannot be run or judged",
    ]
    text = ", ".join(part for part in parts if not part.startswith("0 ")) + "."
    if waiting:
        text += f" {waiting} not looked at yet."
    ends = {"budget": " The budget was spent; the same command goes on.",
            "interrupted": " Interrupted; the same command goes on."}  # fmt: skip
    return text + ends.get(result.ended, "")


def cost(result: BatchResult) -> list[tuple[str, str]]:
    """What it took: name and value."""
    rows = [("this run", _time(result.seconds))]
    rows += [(_KINDS.get(kind, kind), f"{_time(spent)} of workers") for kind, spent in result.worker_seconds.items()]
    return rows


def others(result: BatchResult) -> list[ScriptRow]:
    """The scripts that are in no group."""
    return [row for row in result.rows if not row.group]


def index_markdown(result: BatchResult) -> str:
    """A table of the bugs, each with its program, and a table of the scripts without one."""
    parts = [f"# {headline(result)}", "", summary(result), ""]
    if result.groups:
        parts += ["| # | bug | scripts | tokens | case |", "|---|---|---|---|---|"]
        for group in result.groups:
            link = f"[{group.file}]({group.file})" if group.file else _cell(group.why)
            cells = (str(group.number), _cell(group.title), str(len(group.scripts)), str(group.tokens or "-"), link)
            parts.append(f"| {' | '.join(cells)} |")
        parts.append("")
    for group in result.groups:
        parts += [f"## {group.number}. {_cell(group.title)}", "", _cell(group.signature), ""]
        if group.source:
            parts += ["```python", group.source.rstrip(), "```", ""]
        names = [f"`{name}`" + (" (reduced)" if name in group.reduced else "") for name in group.scripts]
        parts += [f"Scripts: {', '.join(names)}", ""]
    left = others(result)
    if left:
        parts += ["## Scripts without a bug", "", "| script | status | why |", "|---|---|---|"]
        parts += [f"| `{_cell(row.name)}` | {row.status} | {_cell(row.why)} |" for row in left] + [""]
    parts += ["## Cost", "", *(f"- {name}: {value}" for name, value in cost(result)), ""]
    return "\n".join(parts)


def index_html(result: BatchResult, version: str) -> str:
    """The page; empty where jinja2 is not installed."""
    if importlib.util.find_spec("jinja2") is None:
        return ""
    return template("batch.html.j2").render(
        result=result,
        headline=headline(result),
        summary=summary(result),
        largest=max((len(group.scripts) for group in result.groups), default=1),
        others=others(result),
        row_of={row.name: row for row in result.rows},
        cost=cost(result),
        version=version,
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def _cell(text: str) -> str:
    """One line that ends no cell and no code span of its own."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())

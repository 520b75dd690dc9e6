"""A replay as Markdown, for a job's summary or an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shrinkrepro.report.replayed import cells, columns_of, header, story, summary

if TYPE_CHECKING:
    from shrinkrepro.tasks.replay import ReplayResult

_HEADLINES = {
    "fixed": "fixed: it ends normally now",
    "changed": "changed: it fails for another reason now",
    "flaky": "flaky: its runs disagree",
    "unsupported": "unsupported: it needs something that is not there",
    "error": "error: it could not be judged",
    "fails": "fails again",
}


def replay_markdown(result: ReplayResult) -> str:
    """A headline, what is not as expected in full, and the table of all."""
    columns = columns_of(result.rows)
    parts = [f"## shrinkrepro replay: {'all as expected' if result.ok else 'not as expected'}", "", summary(result), ""]
    for row in result.unexpected:
        parts += [f"### `{row.name}`: {_HEADLINES.get(row.status, row.status)}", ""]
        parts += [
            "```text",
            *(f"{label:<10} {_fenced(value)}".rstrip() for label, value in story(row, True)),
            "```",
            "",
        ]
    head = ["case", *(header(columns) or ["status"]), ""]
    parts += ["<details><summary>all cases</summary>", "", _row(head), _row(["---"] * len(head))]
    parts += [_row([f"`{name}`", *statuses, title]) for name, statuses, title in cells(result.rows, columns)]
    return "\n".join([*parts, "", "</details>", ""])


def _row(values: list[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in values) + " |"


def _fenced(text: str) -> str:
    return text.replace("```", "'''")

"""A replay as GitHub's workflow commands: one annotation for each case that is not as expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shrinkrepro.tasks.replay import ReplayResult
    from shrinkrepro.tasks.replayer import Replayed

_LEVELS = {"fixed": "notice", "flaky": "warning"}  # the others are errors


def workflow_commands(result: ReplayResult) -> list[str]:
    """The lines to print, in the order of the rows."""
    return [_annotation(row) for row in result.unexpected]


def _annotation(row: Replayed) -> str:
    if row.status == "error":
        text = " ".join(filter(None, (row.detail, row.hint)))
    elif row.status == "fixed":
        text = f"It ends normally on torch {row.torch}, {row.device}. It was: {row.want}"
    else:
        text = f"was: {row.want}\nis now: {row.found or 'no failure'}" + (f"\n{row.detail}" if row.detail else "")
    title = f"{row.name} is {row.status}"
    where = f"file={_property(row.path)},line=1,title={_property(title)}"
    return f"::{_LEVELS.get(row.status, 'error')} {where}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

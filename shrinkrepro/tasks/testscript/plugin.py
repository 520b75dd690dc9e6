"""The plugin that collects one test and writes it as a script: ``-p PACKAGE.plugin --shrink-script OUT``."""

from __future__ import annotations

import json
from typing import Any

from .script import Unwritable, script_of


def pytest_addoption(parser: Any) -> None:
    """One option: where the script goes."""
    parser.addoption("--shrink-script", default=None, help="write the one collected test as a script to this file")


def pytest_collection_finish(session: Any) -> None:
    """Write the script, or why there is none."""
    out = session.config.getoption("--shrink-script", None)
    if out is None:
        return
    answer: dict[str, Any]
    if len(session.items) != 1:
        answer = {"error": f"{len(session.items)} tests are collected, and one is needed", "count": len(session.items)}
    else:
        try:
            answer = script_of(session.items[0])
        except Unwritable as error:
            answer = {"error": str(error)}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(answer, file)

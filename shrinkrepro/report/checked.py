"""What a check found, as text: a pure function of its result."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from shrinkrepro.tasks.check import CheckResult

_FAILURE_LINES = 6  # of the fresh run's output


def print_check(console: Console, result: CheckResult) -> None:
    """Print the check."""
    for line in result.failure.rstrip().splitlines()[-_FAILURE_LINES:]:
        console.print(Text(line, style="red"), soft_wrap=True)
    console.print()
    for label, value in rows(result):
        console.print(Text.assemble((f"{label:<12} ", "bold"), value), soft_wrap=True)


def rows(result: CheckResult) -> list[tuple[str, str]]:
    """The check's lines, as label and value."""
    always = result.failed == len(result.runs)
    found = [("fails with", result.signature)]
    if result.where:
        found.append(("at", result.where))
    found.append(
        (
            "how often",
            f"{result.failed} of {len(result.runs)} runs{', deterministic' if always else ': not every time'}",
        )
    )
    for place, runs in groupby(result.runs, key=lambda run: run.place):
        group = list(runs)
        seconds = ", ".join(f"{run.seconds:.2f} s" for run in group)
        outcomes = dict.fromkeys("the same" if run.same else run.outcome for run in group)
        found.append(("", f"{place}: {'; '.join(outcomes)} ({seconds})"))
    if result.before is not None:
        found.append(("time", f"{result.before:.2f} s of a warm run lie before the failing call"))
    found += [("reduce will" if i == 0 else "", line) for i, line in enumerate(result.plan)]
    return found

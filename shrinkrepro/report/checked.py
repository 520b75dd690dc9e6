"""What a check found, as text: a pure function of its result."""

from __future__ import annotations

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
        console.print(Text.assemble((f"{label:<14} ", "bold"), value), soft_wrap=True)


def rows(result: CheckResult) -> list[tuple[str, str]]:
    """The check's lines, as label and value."""
    sure = "deterministic" if result.failed == len(result.runs) else "not deterministic"
    found = [("fails with", result.signature)]
    if result.where:
        found.append(("at", result.where))
    found.append((sure, f"{result.failed} of {len(result.runs)} runs fail the same"))
    found += [("", f"{run.where}: {run.outcome}, {run.seconds:.2f} s") for run in result.runs]
    if result.before is not None:
        found.append(("time", f"{result.before:.2f} s lie before the failing call"))
    found += [("reduce would", line) for line in result.plan]
    found += [("finding", finding) for finding in result.findings]
    return found

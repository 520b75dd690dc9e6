"""The summary at the end of a run: the program, its failure, where it lies, how it was confirmed.

Decision: a pure function of the result. The text is the same with and without colour, so that what is
pasted into a bug report is what was on the screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from shrinkrepro.core.program import count_tokens
from shrinkrepro.report.live import highlighted

if TYPE_CHECKING:
    from shrinkrepro.session import AlsoFound, Reduction

_FAILURE_LINES = 6  # of the fresh run's output; its last line is the one that matters
_ALSO_SHOWN = 3
_USUAL = (
    "NameError",
    "AttributeError",
    "TypeError",
    "ValueError",
    "IndexError",
    "KeyError",
    "UnboundLocalError",
    "exit",
)
_ENDED = {
    "minimal": "minimal: no single edit of any strategy still fails the same",
    "budget": "the budget is spent: more may be possible with a larger --budget",
    "interrupted": "interrupted: this is the best so far",
}


def print_summary(console: Console, reduction: Reduction, written: Path | None) -> None:
    """Print the summary of ``reduction``; ``written`` is where its text lies."""
    console.print()
    print_program(console, reduction.source)
    console.print()
    for line in reduction.failure.rstrip().splitlines()[-_FAILURE_LINES:]:
        console.print(Text(line, style="red"), soft_wrap=True)
    console.print()
    for label, value in rows(reduction, written):
        console.print(Text.assemble((f"{label:<10} ", "bold"), value), soft_wrap=True)


def print_program(console: Console, source: str) -> None:
    """Print source text: in colour on a terminal, byte for byte elsewhere."""
    if console.is_terminal:
        console.print(highlighted(source.rstrip("\n")))
    else:
        console.print(Text(source.rstrip("\n")), soft_wrap=True)


def rows(reduction: Reduction, written: Path | None) -> list[tuple[str, str]]:
    """The summary's lines, as label and value."""
    counts = reduction.counts
    confirmed = f"{reduction.confirmed} of {reduction.confirmations} fresh runs failed the same"
    if reduction.rate is not None and reduction.rate_before is not None:
        confirmed += f"; in warm ones {reduction.rate.describe()}, the original {reduction.rate_before.describe()}"
    found = [
        ("failure", reduction.signature),
        ("size", f"{reduction.tokens_before} -> {reduction.tokens_after} tokens"),
        ("confirmed", confirmed),
        ("ended", _ENDED.get(reduction.ended, reduction.ended)),
        (
            "cost",
            f"{counts.run} queries in {reduction.seconds:.1f} s"
            f" ({counts.cached} more answered by the cache, {counts.filtered} refused unseen"
            + (f", {counts.resumed} made by an earlier run)" if counts.resumed else ")"),
        ),
    ]
    found += [("finding", finding) for finding in reduction.findings]
    found += _also(reduction.also_found)
    found += [("fault", f"a strategy raised and was switched off: {fault}") for fault in reduction.faults]
    if written is not None:
        found.append(("written", str(written)))
    return found


def _also(others: Sequence[AlsoFound]) -> list[tuple[str, str]]:
    """What another signature had; first, what cutting a program up does not produce by itself."""
    ranked = sorted(others, key=lambda other: (other.label.startswith(_USUAL), len(other.source)))
    worth = [other for other in ranked[:_ALSO_SHOWN] if not other.label.startswith(_USUAL)]
    lines = [("also found", f"{other.label} ({_size(other.source)})") for other in worth]
    if len(others) > len(worth):
        more = "more " if worth else ""
        lines.append(("also found", f"{len(others) - len(worth)} {more}other failures, as cutting makes them (--json)"))
    return lines


def _size(source: str) -> str:
    try:
        return f"{count_tokens(source)} tokens"
    except (SyntaxError, ValueError):
        return f"{len(source)} characters"

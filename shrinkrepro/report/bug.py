"""A bug report as data: what is known of one failure, before anything is said of how it looks.

Decision: every field is a fact that a run gave, or text that a person wrote; renderers add words and no facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any


@dataclass(frozen=True)
class NeighbourRow:
    """One neighbour of the program: what was exchanged, what came of it, the other failure in words, what was run."""

    group: str
    title: str
    outcome: str  # passes, fails the same, fails otherwise, not settled
    detail: str = ""
    source: str = ""


@dataclass(frozen=True)
class Elsewhere:
    """What the same program did with another torch: ``outcome`` in words."""

    torch: str
    python: str  # its version
    outcome: str


@dataclass(frozen=True)
class Step:
    """One accepted step of the reduction. ``queries`` and ``seconds`` up to then; -1 where they are not known."""

    strategy: str
    source: str
    tokens: int
    queries: int = -1
    seconds: float = -1.0


@dataclass(frozen=True)
class Bug:
    """One failure, ready to be reported. Empty texts and tuples: not known."""

    title: str
    summary: str  # one sentence or two
    kind: str  # exception, mismatch, crash, hang, exit, warning
    program: str  # byte for byte what was run, as pasted too
    expected: str
    actual: str  # the message and the frames that matter
    output: str  # the whole of what a fresh run printed
    failure: str  # the signature in words
    torch: str
    python: str
    values: tuple[str, str] | None = None  # of a mismatch: what the program got, and what it compares that with
    rows: tuple[NeighbourRow, ...] = ()
    not_asked: tuple[str, ...] = ()
    nearest: str = ""  # the title of the nearest neighbour that passes
    diff: str = ""  # to that neighbour
    elsewhere: tuple[Elsewhere, ...] = ()
    control: str = ""  # what the case passes, in words
    environment: str = ""
    reduction: Mapping[str, Any] = field(default_factory=dict)  # sizes in tokens, queries, seconds
    steps: tuple[Step, ...] = ()
    findings: tuple[str, ...] = ()
    origin: str = ""
    words: str = ""  # a person's own
    query: str = ""  # to search the tracker for duplicates with
    labels: tuple[str, ...] = ()
    umbrellas: tuple[str, ...] = ()
    version: str = ""  # of shrinkrepro
    confirmed: bool = False  # the program, taken out of the finished report, was run once more and failed the same
    masked: tuple[str, ...] = ()  # kinds of things that were taken out


def mapped(bug: Bug, change: Callable[[str], str]) -> Bug:
    """``bug`` with ``change`` applied to every text in it."""
    return replace(bug, **{one.name: _mapped(getattr(bug, one.name), change) for one in fields(bug)})


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_mapped(one, change) for one in value)
    if isinstance(value, Mapping):
        return {name: _mapped(one, change) for name, one in value.items()}
    if isinstance(value, NeighbourRow | Elsewhere | Step):
        return replace(value, **{one.name: _mapped(getattr(value, one.name), change) for one in fields(value)})
    return value

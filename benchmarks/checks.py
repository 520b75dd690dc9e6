"""Is a reduced program still the same bug? Three checks; a failure of any is a slip.

``signature``: a fresh run fails in the way of its kind and prints what the case's expression matches.
``keeps``: the source has what the bug needs. ``removed``: with the bug taken out it runs clean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import fresh
from benchmarks.index import Case
from benchmarks.removal.verify import without_bug


@dataclass(frozen=True)
class Checks:
    """What the checks found; ``removed`` is None where no removal is known. ``why`` is a line a failed check."""

    signature: bool
    keeps: bool
    removed: bool | None
    why: tuple[str, ...]

    @property
    def slipped(self) -> bool:
        """Some check failed."""
        return not (self.signature and self.keeps and self.removed is not False)

    @property
    def word(self) -> str:
        """For the table: ``ok``, or the names of the checks that failed."""
        names = [n for n in ("signature", "keeps", "removed") if getattr(self, n) is False]
        return "SLIP " + ",".join(names) if names else "ok"


def failed_as(kind: str, run: fresh.Run) -> bool:
    """Did the run end as a failure of this kind ends?"""
    if run.code == fresh.TIMED_OUT:
        return kind == "hang"
    return run.code < 0 if kind == "crash" else run.code > 0


# What a crash that reads freed or foreign memory does depends on where things lie. One of the cases is a segfault
# under one path length or allocator and an INTERNAL ASSERT under another, its original too.
LAYOUTS: tuple[Mapping[str, str], ...] = ({}, {"PYTHONMALLOC": "malloc"}, {"BENCH_PADDING": "x" * 4000})


def fails(case: Case, result: Path, python: str, timeout: float) -> fresh.Run:
    """A fresh run of the result; for a crash the first that crashes, over some layouts of memory.

    A run that ends clean is the answer at once: a crash that comes and goes is not one that can be reported.
    """
    for layout in LAYOUTS:
        run = fresh.script(python, result, timeout, layout)
        if case.kind != "crash" or run.clean or failed_as(case.kind, run):
            break
    return run


def check(case: Case, result: Path, python: str, timeout: float) -> Checks:
    """Run the checks on the reduced program in the file ``result``; each run has ``timeout`` seconds."""
    why = []
    run = fails(case, result, python, timeout)
    ended = failed_as(case.kind, run)
    signature = ended and re.search(case.signature, run.output) is not None
    if not signature:
        state = "prints something else" if ended else "does not fail as its kind does"
        why.append(f"signature: {state}: exit {run.code}, {run.last_line[:200]}")
    keeps = re.search(case.keeps, result.read_text(encoding="utf-8")) is not None
    if not keeps:
        why.append(f"keeps: nothing in the source matches {case.keeps!r}")
    removed: bool | None = None
    if case.removed != "none":
        healthy = without_bug(python, case.removed, result, timeout)
        removed = healthy.clean
        if not removed:
            why.append(f"removed: without the bug ({case.removed}): exit {healthy.code}, {healthy.last_line[:200]}")
    return Checks(signature, keeps, removed, tuple(why))

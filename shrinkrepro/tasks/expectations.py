"""``replay --update``: what is expected of a case from now on, from what its rows show.

Decision: the newest torch's row sets what is expected in general, unless it is older than the one that the failure was
first seen with; what differs elsewhere gets an entry for that very release or device. Rows without a verdict
change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shrinkrepro.corpus.case import CHANGED, ERROR, UNSUPPORTED, Case, Expectation
from shrinkrepro.corpus.folder import Found
from shrinkrepro.corpus.versions import release
from shrinkrepro.corpus.write import with_expectations
from shrinkrepro.tasks.replayer import Replayed


def updated(found: Found, rows: Sequence[Replayed]) -> dict[str, str]:
    """The new text of every case whose expectations change, by the path of its file."""
    texts: dict[str, str] = {}
    for case in found.cases:
        mine = [row for row in rows if row.path == str(case.path) and row.status != ERROR and row.torch]
        expected, on = expectations(case, mine)
        if (expected, on) != (case.expected, case.on):
            text = case.path.read_bytes().decode("utf-8")
            texts[str(case.path)] = with_expectations(text, expected, on)
    return texts


def expectations(case: Case, rows: Sequence[Replayed]) -> tuple[str, tuple[Expectation, ...]]:
    """What is expected of ``case`` after ``rows`` in general, and where something else is."""
    ordered = sorted(rows, key=lambda row: (row.device != case.device, [-part for part in release(row.torch)]))
    seen = release(case.first_seen.get("torch", ""))
    new = case
    for row in ordered:
        if row.status != UNSUPPORTED or not row.as_expected:  # else the case itself rules the target out
            new = _with(new, row, newest=row is ordered[0] and release(row.torch) >= seen)
    return new.expected, new.on


def _with(case: Case, row: Replayed, newest: bool) -> Case:
    now = case.expectation(row.torch, row.device)
    if now.status == row.status and (row.status != CHANGED or now.failure in ("", row.found)):
        return case
    failure = row.found if row.status == CHANGED else ""
    if now in case.on:
        return replace(
            case, on=tuple(replace(o, status=row.status, failure=failure) if o == now else o for o in case.on)
        )
    if newest and row.status != CHANGED:
        return replace(case, expected=row.status)
    version = ".".join(map(str, release(row.torch)))
    device = row.device.partition(":")[0] if row.device != case.device else ""
    entry = Expectation(row.status, f"{'>=' if newest else '=='}{version}", device, failure)
    return replace(case, on=(*case.on, entry))

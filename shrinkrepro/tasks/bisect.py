"""The task behind ``shrinkrepro bisect``: between which two of several torches the status of a case turned.

Decision: interpreters are ordered by their torch, and only those are run that a binary search asks for. The ends must
differ; a case that turns more than once has one of its turns found.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from shrinkrepro.corpus.case import CHANGED, ERROR, Case
from shrinkrepro.corpus.versions import release
from shrinkrepro.errors import TargetError, UsageError
from shrinkrepro.session import Progress
from shrinkrepro.tasks.replay import ReplayRequest, chosen, replayed_on
from shrinkrepro.tasks.replayer import Replayed

SECONDS = 60.0  # reading a version from an interpreter's metadata
_VERSION = "import importlib.metadata as m; print(m.version('torch'))"


@dataclass(frozen=True)
class Bisection:
    """What a bisection found: the rows of what was run, oldest torch first; ``turn`` are the two that it is between."""

    rows: tuple[Replayed, ...]
    turn: tuple[Replayed, Replayed] | None
    torches: tuple[str, ...]  # of all interpreters given, oldest first


def bisect(request: ReplayRequest, progress: Progress) -> Bisection:
    """Find where the one case of ``request`` turned, among its ``pythons``.

    Raises:
        UsageError: not one case, not two interpreters, or two with the same torch.
        TargetError: an interpreter has no torch, or cannot run the case.
    """
    found = chosen(request)
    if len(found.cases) != 1 or found.problems:
        told = found.problems[0].message if found.problems else f"{len(found.cases)} cases are named"
        raise UsageError(f"bisect needs one case: {told}", "shrinkrepro bisect CASE --python A --python B ...")
    if len(request.pythons) < 2:
        raise UsageError("bisect needs two interpreters at least", "give each with --python PATH")
    ordered = sorted(((torch_of(python), python) for python in request.pythons), key=lambda pair: release(pair[0]))
    for (one, first), (other, second) in pairwise(ordered):
        if release(one) == release(other):
            raise UsageError(f"{first} and {second} have the same torch, {one}", "leave one of them out")
    torches = tuple(version for version, _ in ordered)
    rows: dict[int, Replayed] = {}

    def row(index: int) -> Replayed:
        if index not in rows:
            progress.phase(f"torch {torches[index]}")
            rows[index] = _run(request, found.cases[0], ordered[index][1])
        return rows[index]

    low, high = 0, len(ordered) - 1
    turned = _state(row(low)) != _state(row(high))
    while turned and high - low > 1:
        middle = (low + high) // 2
        if _state(row(middle)) == _state(row(low)):
            low = middle
        else:
            high = middle
    seen = tuple(rows[index] for index in sorted(rows))
    return Bisection(seen, (rows[low], rows[high]) if turned else None, torches)


def torch_of(python: str) -> str:
    """The version of an interpreter's torch, without importing it.

    Raises:
        TargetError: it has none.
    """
    try:
        done = subprocess.run([python, "-c", _VERSION], capture_output=True, text=True, timeout=SECONDS, check=True)
    except (subprocess.SubprocessError, OSError):
        raise TargetError(f"{python} has no torch", f"install it there: {python} -m pip install torch") from None
    return done.stdout.strip()


def _run(request: ReplayRequest, case: Case, python: str) -> Replayed:
    [row] = replayed_on(request, [case], python)
    if row.status == ERROR:
        raise TargetError(
            f"{case.name} cannot be judged on torch {row.torch}: {row.detail}", "try it with plain python"
        )
    return row


def _state(row: Replayed) -> tuple[str, Sequence[str]]:
    """What counts as the same: a changed failure is another state than another changed failure."""
    return row.status, (row.found,) if row.status == CHANGED else ()

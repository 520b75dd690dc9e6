"""The task behind ``shrinkrepro replay``: cases found, run on every target that was asked for, and compared with what
is expected of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shrinkrepro.corpus.case import ERROR, Case
from shrinkrepro.corpus.folder import Found, Problem, find
from shrinkrepro.session import Progress, Request
from shrinkrepro.tasks.inputs import checked
from shrinkrepro.tasks.replayer import Replayed, Replayer


@dataclass(frozen=True)
class ReplayRequest:
    """What the user asked for. Times in seconds; empty sequences mean: this interpreter, the cases' own devices."""

    paths: tuple[Path, ...]
    keyword: str = ""
    shard: str = ""
    pythons: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    jobs: int | None = None
    timeout: float | None = None
    preload: Path | None = None
    isolation: str | None = None
    measure: int = 0  # how many cases are also run with plain python, for the cost


@dataclass(frozen=True)
class Cost:
    """What the replay took beside ``python case.py`` for each, one after the other, in seconds of wall time.""" ""

    replay_seconds: float
    plain_seconds: float  # of all cases; estimated from ``measured`` of them
    measured: int
    cases: int
    jobs: int  # of the replay

    @property
    def ratio(self) -> float:
        """Replay time for a second of plain time."""
        return self.replay_seconds / self.plain_seconds if self.plain_seconds else 0.0


@dataclass(frozen=True)
class ReplayResult:
    """What became of every case on every target: targets in the order asked for, cases by name."""

    rows: tuple[Replayed, ...]
    seconds: float
    cost: Cost | None = None

    @property
    def unexpected(self) -> tuple[Replayed, ...]:
        """The rows that are not as expected."""
        return tuple(row for row in self.rows if not row.as_expected)

    @property
    def ok(self) -> bool:
        """Whether all are as expected."""
        return not self.unexpected


def replay(request: ReplayRequest, progress: Progress) -> ReplayResult:
    """Replay what ``request`` names.

    Raises:
        UsageError: the request cannot work.
        TargetError: an interpreter cannot run cases.
    """
    return replay_found(request, chosen(request), progress)


def chosen(request: ReplayRequest) -> Found:
    """The cases that ``request`` names, once all else in it has been looked at.

    Raises:
        UsageError: the request cannot work.
    """
    for python in request.pythons or (None,):
        for device in request.devices or (None,):
            checked_request(request, python, device)
    return find(request.paths).selected(request.keyword, request.shard)


def replay_found(request: ReplayRequest, found: Found, progress: Progress) -> ReplayResult:
    """Replay the cases of ``found`` as ``request`` asks."""
    started = time.monotonic()
    rows = [unusable(problem) for problem in found.problems]
    cost = None
    for python in (request.pythons or (None,)) if found.cases else ():
        begun = time.monotonic()
        progress.phase(f"starting {python or 'this interpreter'}")
        with _replayer(request, found.cases, python) as replayer:
            for device in request.devices or (None,):
                on = f" on {device}" if device else ""
                progress.phase(f"{len(found.cases)} cases on torch {replayer.info.torch}{on}")
                rows += replayer.replay(found.cases, device)
            seconds = time.monotonic() - begun
            if cost is None and request.measure:
                progress.phase("measuring python case.py")
                cost = _cost(replayer, found.cases, request.measure, seconds / len(request.devices or (None,)))
    return ReplayResult(tuple(rows), time.monotonic() - started, cost)


def replayed_on(request: ReplayRequest, cases: Sequence[Case], python: str | None) -> list[Replayed]:
    """What becomes of ``cases`` on one interpreter, on their own devices."""
    with _replayer(request, cases, python) as replayer:
        return replayer.replay(cases)


def _replayer(request: ReplayRequest, cases: Sequence[Case], python: str | None) -> Replayer:
    return Replayer(
        cases,
        python=checked_request(request, python, None).python,
        jobs=request.jobs,
        timeout=request.timeout,
        preload=request.preload,
        isolation=request.isolation,
    )


def checked_request(request: ReplayRequest, python: str | None, device: str | None) -> Request:
    """What a reduction would be asked with, as its checks are the same; the text stands for the cases."""
    return checked(
        Request(
            script=None,
            text="pass\n",
            python=python,
            device=device,
            jobs=request.jobs,
            timeout=request.timeout,
            isolation=request.isolation,
            preload=request.preload,
        )
    )


def _cost(replayer: Replayer, cases: Sequence[Case], wanted: int, seconds: float) -> Cost:
    count = min(wanted, len(cases))
    sample = [cases[index * len(cases) // count] for index in range(count)]
    plain = sum(replayer.plain_seconds(case) for case in sample) / count * len(cases)
    return Cost(seconds, plain, count, len(cases), replayer.jobs)


def unusable(problem: Problem) -> Replayed:
    """The row of a file that is no usable case."""
    return Replayed(problem.name, str(problem.path), ERROR, "", False, detail=problem.message, hint=problem.hint)

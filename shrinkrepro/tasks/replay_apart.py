"""A replay on the workers of a cluster: the corpus goes out in shares, and its rows come back in order.

Decision: a share is some cases, not one: the servers of a target start once for each share, and that costs as much as
dozens of cases do.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shrinkrepro.corpus.case import ERROR, Case
from shrinkrepro.corpus.folder import Found
from shrinkrepro.errors import TargetError
from shrinkrepro.session import Progress
from shrinkrepro.tasks.batch_worker import WORKER
from shrinkrepro.tasks.placement import Placement
from shrinkrepro.tasks.replay import ReplayRequest, ReplayResult, checked_request, unusable
from shrinkrepro.tasks.replay_share import REPLAY
from shrinkrepro.tasks.replayer import Replayed
from shrinkrepro.workers.executor import DONE, ENDS, FAILED, NOTE, Event, Work

LEAST = 10  # cases of a share, if there are as many: its start is spread over them
SHARES = 3  # of each worker, so that one with slow cases does not hold up the rest for long


def replay_apart(request: ReplayRequest, found: Found, placement: Placement, progress: Progress) -> ReplayResult:
    """Replay the cases of ``found`` on a Ray cluster.

    Raises:
        UsageError: Ray is not installed, or nothing of it answers.
        TargetError: no node can run cases.
    """
    started = time.monotonic()
    rows = [unusable(problem) for problem in found.problems]
    for python in (request.pythons or (None,)) if found.cases else ():
        rows += _on(request, found.cases, checked_request(request, python, None).python, placement, progress)
    return ReplayResult(tuple(rows), time.monotonic() - started)


def _on(
    request: ReplayRequest, cases: Sequence[Case], python: str | None, placement: Placement, progress: Progress
) -> list[Replayed]:
    progress.phase(f"starting {python or 'the interpreters of the nodes'}")
    devices = list(request.devices or (None,))
    ends: dict[str, Event] = {}
    with placement.workers(WORKER, python) as executor:
        shares = list(_shares(cases, executor.slots * SHARES))
        progress.phase(f"{len(cases)} cases in {len(shares)} shares")
        options = {**_options(request, python), "devices": devices, "jobs": max(1, int(placement.cpus))}
        for number, share in enumerate(shares):
            sources = {f"{n}/{case.path.name}": case.text for n, case in enumerate(share)}
            executor.submit(Work(f"share {number}", REPLAY, next(iter(sources)), sources, options=options))
        for event in executor.events():
            if event.kind in ENDS:
                ends[event.work] = event
            elif event.kind == NOTE:
                progress.note(str(event.data["text"]))
    parts = [_rows(share, ends[f"share {number}"], devices) for number, share in enumerate(shares)]
    return [row for n in range(len(devices)) for part in parts for row in part[n]]


def _shares(cases: Sequence[Case], wanted: int) -> Iterator[Sequence[Case]]:
    size = max(LEAST, -(-len(cases) // wanted))
    return (cases[start : start + size] for start in range(0, len(cases), size))


def _options(request: ReplayRequest, python: str | None) -> Mapping[str, Any]:
    found: dict[str, Any] = {"python": python, "timeout": request.timeout, "isolation": request.isolation}
    if request.preload is not None:
        path = request.preload.absolute()
        found |= {"preload": str(path), "preload_text": path.read_text(encoding="utf-8-sig")}
    return found


def _rows(share: Sequence[Case], end: Event, devices: Sequence[str | None]) -> list[list[Replayed]]:
    """The rows of a share, for each device."""
    if end.kind == FAILED:
        raise TargetError(str(end.data["message"]), str(end.data["hint"]))
    if end.kind != DONE:
        return [[_lost(case, end, device) for case in share] for device in devices]
    rows = [Replayed(**row) for row in end.data["rows"]]
    placed = [dataclasses.replace(row, path=str(case.path)) for row, case in zip(rows, [*share] * len(devices))]
    return [placed[n * len(share) : (n + 1) * len(share)] for n in range(len(devices))]


def _lost(case: Case, end: Event, device: str | None) -> Replayed:
    return Replayed(case.name, str(case.path), ERROR, case.expected, False, detail=str(end.data["message"]),
                    hint=str(end.data["hint"]), title=case.title, device=device or case.device)  # fmt: skip

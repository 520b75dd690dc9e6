"""Processor seconds of a process and all that it started.

Decision: they are the unit of time here, because a shared machine changes wall time by factors from minute to minute,
and on a core of its own they are the wall time of reducers that run one thing at a time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")  # a second


@dataclass(frozen=True)
class Used:
    """Processor seconds of a process and its descendants: of those that run, and of those that ended below them."""

    running: float
    ended: float


def processor_seconds(pid: int | None = None) -> float:
    """What ``pid`` (None: this process) and its descendants have used so far, those that ended and were waited for too.

    Linux only; a descendant that ends as an orphan is lost.
    """
    found = used(pid)
    return found.running + found.ended


def used(pid: int | None = None) -> Used:
    """The same, in its two parts."""
    root = os.getpid() if pid is None else pid
    times: dict[int, tuple[float, float]] = {}
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        user, system, ended_user, ended_system = map(int, fields[11:15])
        times[int(entry.name)] = (user + system) / _TICKS, (ended_user + ended_system) / _TICKS
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    running, ended, waiting = 0.0, 0.0, [root]
    while waiting:
        process = waiting.pop()
        own, below = times.get(process, (0.0, 0.0))
        running, ended = running + own, ended + below
        waiting += children.get(process, ())
    return Used(running, ended)

"""Processor seconds of a process and all that it started.

Decision: they are the unit of time here, because a shared machine changes wall time by factors from minute to minute,
and on a core of its own they are the wall time of reducers that run one thing at a time.
"""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")  # a second


def processor_seconds(pid: int | None = None) -> float:
    """What ``pid`` (None: this process) and its descendants have used so far, those that ended and were waited for too.

    Linux only; a descendant that ends as an orphan is lost.
    """
    root = os.getpid() if pid is None else pid
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(map(int, fields[11:15])) / _TICKS
    children: dict[int, list[int]] = {}
    for process, parent in parents.items():
        children.setdefault(parent, []).append(process)
    total, waiting = 0.0, [root]
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0.0)
        waiting += children.get(process, ())
    return total

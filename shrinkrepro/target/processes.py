"""The processes that programs start: counted, weighed, and ended together with the child that they came from.

Decision: limits of the kernel bind a process or a user, and root not at all; so who attends a child also counts all
that it started. In a PID namespace that is everything; elsewhere what descends from the server, which adopts orphans.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Dict, List, Sequence

MOST_PROCESSES = 256  # of one child at a time, threads not counted
MOST_DISK = 4 << 30  # bytes that programs may take where what they write is on a disk
LOOK_SECONDS = 0.1  # between two looks
SLACK = 1.5  # times the memory of one program, that its processes may have together: one alone fails by itself before
REAP_SECONDS = 20.0  # after which processes that cannot be killed (a hanging disk) are left to the kernel

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Watch:
    """Watches what descends from this process. ``memory``: bytes that one may have, 0 for no limit;
    ``folders``: where what they write lands on a disk."""

    def __init__(self, memory: int, folders: Sequence[str] = ()) -> None:
        self.memory = memory
        self.folders = folders
        self._born_with = private_bytes(os.getpid())  # what a forked process shares with this one
        self._free = [_free(folder) for folder in folders]
        self._looked = time.monotonic()

    def excess(self) -> str:
        """What they take too much of, in words; empty when nothing, or when the last look was just now."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return ""
        self._looked = time.monotonic()
        found = descendants()
        if len(found) > MOST_PROCESSES:
            return "it started more than %d processes" % MOST_PROCESSES
        most = SLACK * self.memory
        if most and sum(max(0, private_bytes(pid) - self._born_with) for pid in found) > most:
            return "its processes took more than %.1f GB of memory" % (most / 1e9)
        if any(before - _free(folder) > MOST_DISK for folder, before in zip(self.folders, self._free)):
            if sum(map(_size, self.folders)) > MOST_DISK:
                return "it wrote more than %.1f GB" % (MOST_DISK / 1e9)
            self._free = [_free(folder) for folder in self.folders]  # something else on this machine did
        return ""


def _free(folder: str) -> int:
    try:
        found = os.statvfs(folder)
    except (OSError, AttributeError):
        return 0
    return found.f_bavail * found.f_frsize


def _size(folder: str) -> int:
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(above, name)).st_blocks * 512
    return total


def private_bytes(pid: int) -> int:
    """Resident memory of a process that no file stands for, shared with its parent or not; 0 when it is gone."""
    try:
        with open("/proc/%d/statm" % pid, "rb") as file:
            fields = file.read().split()
        return (int(fields[1]) - int(fields[2])) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def descendants() -> List[int]:
    """Process ids of everything that descends from this process and is not a zombie; empty without ``/proc``."""
    parents: Dict[int, int] = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry) as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state != "Z":
            parents[int(entry)] = int(parent)
    found: List[int] = []
    own = os.getpid()
    for pid in parents:
        above, steps = pid, 0
        while above in parents and above != own and steps < len(parents):
            above, steps = parents[above], steps + 1
        if above == own and pid != own:
            found.append(pid)
    return found


def reap_orphans() -> None:
    """Kill and collect what programs started and left behind (they became this process's children)."""
    end = time.monotonic() + (REAP_SECONDS if os.path.isdir("/proc") else 0.5)  # without it none can be found
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] != 0:
                continue
        except ChildProcessError:
            return
        if os.getpid() == 1:
            _kill(-1)  # everything in our namespace but ourselves, at once
        else:
            found = descendants()
            for number in (signal.SIGSTOP, signal.SIGKILL):  # one that is stopped starts no other meanwhile
                for pid in found:
                    _kill(pid, number)
        time.sleep(0.002)


def _kill(pid: int, number: int = signal.SIGKILL) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return

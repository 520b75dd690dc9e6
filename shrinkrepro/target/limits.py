"""What one program may use of the machine: memory, processor time, file sizes, processes.

Decision: the kernel's own limits where they bind, so that a program that asks for too much fails by itself, as it would
on a smaller machine; ``processes`` watches what they do not bind.
"""

from __future__ import annotations

import contextlib
import os
import resource
from typing import List

from shrinkrepro.target.setting import Setting

FILE_BYTES = 512 << 20  # of any file that a program writes, so that a flood of output ends by itself
MEMORY_SHARE = 0.5  # of what is free when a server starts, divided by the number of jobs
LEAST_MEMORY = 1 << 30  # bytes that a program may have where less would come out
LIBRARIES = 12 << 30  # bytes of address space that a new interpreter maps when it imports a torch with its libraries
PROCESSES = 512  # threads and processes of this user beyond those there are; does not bind root
CPU_SECONDS = 3600  # of a single process beyond its programs' own time limits: for what outlives everything else

# Their drivers reserve more address space than there is memory, so a limit on it cannot be used beside them.
_ACCELERATORS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/accel")
_GROUP_FOLDER = "/sys/fs/cgroup"
# of a container: its limit, what of it is used, and where it says how much of that is only a cache
_GROUPS = (
    ("memory.max", "memory.current", b"inactive_file "),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", b"total_inactive_file "),
)


def memory_of(setting: Setting) -> int:
    """Bytes that each program may add: what was asked for, or its share of what is free; 0 where that is not known."""
    if setting.memory:
        return setting.memory
    free = free_memory()
    return max(LEAST_MEMORY, int(MEMORY_SHARE * free / max(1, setting.jobs))) if free else 0


def limit(memory: int, tasks: int) -> None:
    """Set the limits of this process. ``memory`` in bytes, 0 for none; ``tasks`` as ``user_tasks`` counted them."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, FILE_BYTES)
    _lower(resource.RLIMIT_CPU, CPU_SECONDS)
    if memory and not any(os.path.exists(device) for device in _ACCELERATORS):
        _lower(resource.RLIMIT_AS, _address_space() + memory)
    if tasks:
        _lower(resource.RLIMIT_NPROC, tasks + PROCESSES)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # where memory runs out all the same, the kernel takes the program and nothing else


def _lower(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def user_tasks() -> int:
    """Processes and threads of this process's user, as ``/proc`` shows them; 0 for root and where there is none."""
    user = os.getuid()
    count = 0
    for entry in os.listdir("/proc") if user and os.path.isdir("/proc") else []:
        with contextlib.suppress(OSError):
            if entry.isdigit() and os.stat("/proc/" + entry).st_uid == user:
                count += len(os.listdir("/proc/%s/task" % entry))
    return count


def free_memory() -> int:
    """Bytes of memory that programs can still have, in this container if it is one; 0 where that is not known."""
    found: List[int] = []
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo", "rb") as file:
        found += [int(line.split()[1]) * 1024 for line in file if line.startswith(b"MemAvailable:")]
    for most, used, cache in _GROUPS:
        with contextlib.suppress(OSError, ValueError, IndexError):
            left = _number(most) - _number(used)
            with open(os.path.join(_GROUP_FOLDER, os.path.dirname(most), "memory.stat"), "rb") as file:
                left += sum(int(line.split()[1]) for line in file if line.startswith(cache))
            found.append(max(0, left))
    return min(found, default=0)


def _number(name: str) -> int:
    with open(os.path.join(_GROUP_FOLDER, name), "rb") as file:
        return int(file.read())


def _address_space() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 1 << 40

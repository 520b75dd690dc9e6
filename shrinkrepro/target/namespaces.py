"""Namespaces around a server or a fresh run: no network, no other process, no file system that can be written.

Decision: what the kernel lets us have is tried in a process that is thrown away, the most first; so every step down is
one whole level that was seen to work, and a kernel or a container that refuses one thing costs that thing alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import struct
import sys
from typing import Iterator, List, Sequence, Tuple

from shrinkrepro.target import kernel
from shrinkrepro.target.confine import memory_folder

_NAMES = (
    (kernel.CLONE_NEWUSER, "user"),
    (kernel.CLONE_NEWNS, "mount"),
    (kernel.CLONE_NEWNET, "network"),
    (kernel.CLONE_NEWIPC, "IPC"),
    (kernel.CLONE_NEWPID, "PID"),
)
_EXTRAS = (kernel.CLONE_NEWNET | kernel.CLONE_NEWPID, kernel.CLONE_NEWPID, kernel.CLONE_NEWNET, 0)
_OUTER = kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID  # what has to be left before the process that lives inside is made

MOST_TASKS = 512  # processes and threads that the kernel lets a PID namespace have, root's too
RESERVED = 300  # numbers of processes that the kernel gives only once: the others go round
_TASKS_SINCE = (6, 14)  # Linux in which that number is the namespace's own and not the whole machine's
_RUN = "/run"  # where the sockets of the machine's services are: no network namespace hides those
_IFF_UP, _SIOCGIFFLAGS, _SIOCSIFFLAGS = 1, 0x8913, 0x8914


def best(network: bool, scratch: str, writable: Sequence[str], needed: Sequence[str]) -> int:
    """The namespaces, as flags for ``unshare``, that this process can have all together; 0 for none.

    ``network``: whether the machine's network is wanted. The rest is ``furnish``'s.
    """
    if sys.platform != "linux":
        return 0
    for flags in _levels(network):
        if _works(flags, scratch, writable, needed):
            return flags
    return 0


def names(flags: int) -> Tuple[str, ...]:
    """The namespaces of ``flags`` in words."""
    return tuple(name for flag, name in _NAMES if flags & flag)


def leave_outer(flags: int) -> None:
    """Leave the user namespace, and let the next process that this one makes be the first of a PID namespace."""
    if flags & _OUTER:
        kernel.unshare(flags & _OUTER)


def furnish(flags: int, scratch: str, writable: Sequence[str], needed: Sequence[str]) -> None:
    """Leave the other namespaces of ``flags`` and make the new ones a place to live in.

    ``scratch`` becomes a file system in memory; it and ``writable`` are all that can be written. ``needed``: what must
    be seen even where it lies among the sockets of services.
    """
    kernel.unshare(flags & ~_OUTER)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    if flags & kernel.CLONE_NEWPID:
        kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
        with contextlib.suppress(OSError):
            bound_tasks(MOST_TASKS)
    if flags & kernel.CLONE_NEWNET:
        raise_loopback()
    with contextlib.suppress(OSError):
        _hide_services([scratch, *writable, *needed])
    for path in writable:
        kernel.mount(path, path, None, kernel.MS_BIND | kernel.MS_REC)
    with contextlib.suppress(OSError):
        kernel.set_read_only("/", True)
        for path in writable:
            kernel.set_read_only(path, False)
    memory_folder(scratch)


def bound_tasks(most: int) -> None:
    """Let this PID namespace have ``most`` processes and threads, where the kernel can bound those of one alone."""
    found = [int(part) for part in re.findall(r"\d+", os.uname().release)[:2]]
    if tuple(found) < _TASKS_SINCE:
        return
    for name, number in (("pid_max", RESERVED + most), ("ns_last_pid", RESERVED)):
        with open("/proc/sys/kernel/" + name, "w") as file:
            file.write(str(number))


def _levels(network: bool) -> Iterator[int]:
    base = kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
    extras: List[int] = []
    for extra in _EXTRAS:
        extra &= ~kernel.CLONE_NEWNET if network else -1
        if extra not in extras:
            extras.append(extra)
    for extra in extras:
        yield base | extra  # a user namespace would hide other users' files from root
        yield base | extra | kernel.CLONE_NEWUSER


def _works(flags: int, scratch: str, writable: Sequence[str], needed: Sequence[str]) -> bool:
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    try:
        leave_outer(flags)
        inside = os.fork()
        if inside:
            os._exit(0 if os.waitpid(inside, 0)[1] == 0 else 1)
        furnish(flags, scratch, writable, needed)
        os._exit(0)
    finally:
        os._exit(1)


def raise_loopback() -> None:
    """Let programs reach themselves: process groups and data loaders listen on the loopback device."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as any_socket:
        asked = struct.pack("16sh22x", b"lo", 0)
        found = struct.unpack("16sh22x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, asked))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", found | _IFF_UP))


def _hide_services(needed: Sequence[str]) -> None:
    """An empty folder in the place of /run but for the links there and what ``needed`` leads through."""
    if not os.path.isdir(_RUN) or os.path.islink(_RUN):
        return
    links: List[Tuple[str, str]] = []
    shown: List[Tuple[int, str]] = []
    real = [os.path.realpath(path) + os.sep for path in needed]
    for entry in os.listdir(_RUN):
        path = os.path.join(_RUN, entry)
        if os.path.islink(path):  # on some systems everything that is installed is reached by one of these
            links.append((os.readlink(path), path))
        elif os.path.isdir(path) and any(name.startswith(path + os.sep) for name in real):
            shown.append((os.open(path, os.O_PATH | os.O_CLOEXEC), path))
    memory_folder(_RUN, mode="755")
    for target, path in links:
        os.symlink(target, path)
    for descriptor, path in shown:
        os.mkdir(path)
        kernel.mount("/proc/self/fd/%d" % descriptor, path, None, kernel.MS_BIND | kernel.MS_REC)
        os.close(descriptor)

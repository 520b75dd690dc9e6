"""The system calls of Linux that confinement is made of, as functions that raise ``OSError``.

Decision: they are called by ctypes, because the target may install nothing and Python has some of them only since 3.12.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import struct
import sys
from typing import Any, List, Optional

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18

_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_ATTR_RDONLY = 1

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
_AMBIENT_CLEAR_ALL = 4

_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = 63
# What root needs to use files as root does: CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, SETGID, SETUID.
_FILE_CAPABILITIES = 0b11011111


@functools.lru_cache(maxsize=1)
def libc() -> Any:
    """The C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def check(result: int) -> int:
    """``result``, unless it says that a call failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def prctl(option: int, value: int) -> None:
    """One ``prctl`` with one argument."""
    check(libc().prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)))


def unshare(flags: int) -> None:
    """Leave namespaces; after CLONE_NEWUSER this process keeps its user and group in the new one."""
    user, group = os.getuid(), os.getgid()
    check(libc().unshare(flags))
    if flags & CLONE_NEWUSER:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", "%d %d 1" % (user, user)),
            ("gid_map", "%d %d 1" % (group, group)),
        ):
            with open("/proc/self/" + name, "w") as file:
                file.write(text)


def mount(source: str, target: str, kind: Optional[str], flags: int, options: Optional[str] = None) -> None:
    """Mount a file system, or bind a path."""
    encoded = [None if item is None else os.fsencode(item) for item in (source, target, kind, options)]
    check(libc().mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]))


def set_read_only(path: str, read_only: bool) -> None:
    """Make the mount at ``path`` and all below it read-only, or take that back (Linux 5.12)."""
    attributes = struct.pack("=4Q", _ATTR_RDONLY if read_only else 0, 0 if read_only else _ATTR_RDONLY, 0, 0)
    check(libc().syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), _AT_RECURSIVE, attributes, ctypes.c_size_t(32)))


def mount_points() -> List[str]:
    """Where this process sees file systems mounted."""
    with open("/proc/self/mountinfo") as file:
        return [line.split()[4].replace("\\040", " ") for line in file]


def drop_bounding_set() -> None:
    """Let no program that is started get a capability back, beyond those on files."""
    for number in range(_LAST_CAPABILITY + 1):
        if not _FILE_CAPABILITIES >> number & 1:
            libc().prctl(PR_CAPBSET_DROP, ctypes.c_ulong(number), *[ctypes.c_ulong(0)] * 3)


def drop_capabilities() -> None:
    """Give up every capability; root keeps those on files. No program that is started later gets one back."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    calls = libc()
    calls.prctl(PR_CAP_AMBIENT, ctypes.c_ulong(_AMBIENT_CLEAR_ALL), *[ctypes.c_ulong(0)] * 3)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    held = ctypes.create_string_buffer(24)
    check(calls.capget(header, held))
    permitted = struct.unpack("=6I", held.raw)[1]
    kept = permitted & _FILE_CAPABILITIES if os.getuid() == 0 else 0
    check(calls.capset(header, struct.pack("=6I", kept, kept, 0, 0, 0, 0)))


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent ends. ``parent``: who it was when this process began."""
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() not in (parent, 0):  # 0: it stands outside this process's PID namespace
        os._exit(1)

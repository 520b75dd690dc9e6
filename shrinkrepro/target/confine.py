"""Confinement of a child: what a program writes stays in its scratch folder, and signals stay inside.

Decision: two layers, each used where the kernel has it. A mount namespace of the child's own shows the working
folder and the script's folder under overlays, so that relative writes work and vanish with the child;
Landlock on top refuses every other write, TCP, and signals to processes outside. Neither needs root.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import struct
import sys
from typing import Any, List, Sequence, Tuple

OVERLAY_BYTES = 1 << 30  # of memory that all files a child writes in overlays may take

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
MS_NOSUID = 2
MS_NODEV = 4
PR_SET_NO_NEW_PRIVS = 38

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
LANDLOCK_VERSION = 1
RULE_PATH_BENEATH = 1
WRITE_FILE = 1 << 1
REMOVE_FILE = 1 << 5
MAKE_REG = 1 << 8
# remove and make entries of every kind; move between folders and truncate came with later versions
WRITE_ALL = WRITE_FILE | sum(1 << bit for bit in range(4, 13))
REFER, TRUNCATE = 1 << 13, 1 << 14
BIND_TCP, CONNECT_TCP = 1, 2
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2

# What programs write to as a matter of course, and the accelerators'; never a disk.
_HARMLESS_DEVICE = re.compile(r"(null|zero|full|u?random|tty|ptmx|pts|nvidia.*|dri|kfd|accel.*)$")

_OWN_FILES = "overlay"  # the folder, in the child's own, where the overlays' memory file system is mounted


def confine(
    folder: str, shown: Sequence[str], shared: Sequence[str], bound: Sequence[Tuple[str, str]] = ()
) -> List[str]:
    """Confine this process: it may write in ``folder`` and ``shared``, and seemingly in the folders ``shown``.

    ``bound``: (a folder of ``shared``, where it is to be seen); only where that lies under an overlay.

    Returns those of ``shown`` that are overlays now; the others can be read and not written.
    """
    if sys.platform != "linux":
        return []
    overlays = _overlay_all(folder, shown, shared)
    for source, seen in bound:
        if any(seen.startswith(path + "/") for path in overlays):
            with contextlib.suppress(OSError):
                os.makedirs(seen, exist_ok=True)
                _mount(_libc(), source, seen, None, MS_BIND, None)
    _landlock([folder, *shared, *overlays], private_shm="/dev/shm" in overlays)
    return [path for path in overlays if path != "/dev/shm"]


def written(folder: str) -> List[str]:
    """Names of what programs wrote at the top of the overlays that belong to ``folder``."""
    base = os.path.join(folder, _OWN_FILES)
    found: List[str] = []
    for entry in os.listdir(base) if os.path.isdir(base) else []:
        upper = os.path.join(base, entry, "upper")
        if os.path.isdir(upper):
            found += [name for name in os.listdir(upper) if not name.startswith(_CACHES)]
    return found


_CACHES = "torchinductor_"  # made by an import; programs that compile, and so fill it, run in a child of their own


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _overlay_all(folder: str, shown: Sequence[str], shared: Sequence[str]) -> List[str]:
    """Overlays over the folders ``shown`` and an own /dev/shm, in namespaces of this process's own."""
    libc = _libc()
    try:
        _own_namespaces(libc)
        _mount(libc, "none", "/", None, MS_REC | MS_PRIVATE, None)
        mounts = _mount_points()
        base = os.path.join(folder, _OWN_FILES)
        os.mkdir(base)
        _mount(libc, "tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "size=%d,mode=700" % OVERLAY_BYTES)
    except OSError:
        return []
    done: List[str] = []
    for number, path in enumerate(_outermost(shown)):
        try:
            if _overlay(libc, os.path.join(base, str(number)), path, [folder, *shared], mounts):
                done.append(path)
        except OSError:
            continue
    try:
        _mount(libc, "tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=%d,mode=1777" % OVERLAY_BYTES)
        done.append("/dev/shm")
    except OSError:
        return done
    return done


def _own_namespaces(libc: Any) -> None:
    """A mount namespace for this process; with a user namespace around it unless we are allowed without."""
    user, group = os.getuid(), os.getgid()
    if user == 0 and libc.unshare(CLONE_NEWNS) == 0:  # a user namespace would hide other users' files from root
        return
    _check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", "%d %d 1" % (user, user)),
        ("gid_map", "%d %d 1" % (group, group)),
    ):
        with open("/proc/self/" + name, "w") as file:
            file.write(text)


def _overlay(libc: Any, place: str, path: str, kept: Sequence[str], mounts: Sequence[str]) -> bool:
    """Mount an overlay over ``path`` that keeps what is written in ``place``; the folders ``kept`` stay real."""
    below = path.rstrip("/") + "/"
    if path == "/" or any(mount.startswith(below) for mount in mounts):
        return False  # an overlay shows one file system, not what is mounted below
    if any(sign in path for sign in ":,\\"):
        return False  # separators in the mount's options
    upper, work = os.path.join(place, "upper"), os.path.join(place, "work")
    for name in (place, upper, work):
        os.mkdir(name)
    hidden = [(os.open(name, os.O_PATH | os.O_CLOEXEC), name) for name in kept if name.startswith(below)]
    options = "lowerdir=%s,upperdir=%s,workdir=%s,userxattr" % (path, upper, work)
    _mount(libc, "overlay", path, "overlay", MS_NOSUID | MS_NODEV, options)
    for descriptor, name in hidden:
        _mount(libc, "/proc/self/fd/%d" % descriptor, name, None, MS_BIND | MS_REC, None)
        os.close(descriptor)
    return True


def _mount(libc: Any, source: str, target: str, kind: Any, flags: int, options: Any) -> None:
    encoded = [None if item is None else os.fsencode(item) for item in (source, target, kind, options)]
    _check(libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]))


def _mount_points() -> List[str]:
    with open("/proc/self/mountinfo") as file:
        return [line.split()[4].replace("\\040", " ") for line in file]


def _outermost(paths: Sequence[str]) -> List[str]:
    """The paths without those that lie below another."""
    real = sorted({os.path.realpath(path) for path in paths})
    return [p for p in real if not any(p != q and p.startswith(q.rstrip("/") + "/") for q in real)]


def _landlock(writable: Sequence[str], private_shm: bool) -> None:
    """Refuse writes outside ``writable``, TCP, and signals to others, as far as this kernel can."""
    libc = _libc()
    version = libc.syscall(LANDLOCK_CREATE, None, 0, LANDLOCK_VERSION)
    if version < 1:
        return
    handled = WRITE_ALL | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    network = BIND_TCP | CONNECT_TCP if version >= 4 else 0
    scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS if version >= 6 else 0
    fields = [handled] + ([network] if version >= 4 else []) + ([scoped] if version >= 6 else [])
    attributes = struct.pack("=%dQ" % len(fields), *fields)
    rules = _check(libc.syscall(LANDLOCK_CREATE, attributes, len(attributes), 0))
    for path in writable:
        _allow(libc, rules, path, handled)
    for name in os.listdir("/dev"):
        if _HARMLESS_DEVICE.match(name):
            _allow(libc, rules, "/dev/" + name, handled & (WRITE_FILE | TRUNCATE))
    if not private_shm:
        _allow(libc, rules, "/dev/shm", handled & (WRITE_FILE | TRUNCATE | MAKE_REG | REMOVE_FILE))
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check(libc.syscall(LANDLOCK_RESTRICT, rules, 0))
    os.close(rules)


def _allow(libc: Any, rules: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rule = struct.pack("=Qi", rights, descriptor)
    libc.syscall(LANDLOCK_ADD, rules, RULE_PATH_BENEATH, rule, 0)
    os.close(descriptor)

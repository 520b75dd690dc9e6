"""Landlock: what a process may write, and whom it may reach, from now on and for good.

Decision: every right that this kernel's version knows is asked for; what an older one lacks (signals and abstract
sockets before version 6, TCP before 4, truncation before 3) is left to the namespaces around.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from typing import Any, Sequence

from shrinkrepro.target import kernel

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

_WRITE_FILE = 1 << 1
_REMOVE_FILE = 1 << 5
_MAKE_REG = 1 << 8
# remove and make entries of every kind; move between folders and truncate came with later versions
_WRITE_ALL = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_TCP = 3  # bind and connect
_ABSTRACT_SOCKETS_AND_SIGNALS = 3

# What programs write to as a matter of course, and the accelerators'; never a disk.
_HARMLESS_DEVICE = re.compile(r"(null|zero|full|u?random|tty|ptmx|pts|nvidia.*|dri|kfd|accel.*)$")


def version() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    try:
        return max(0, int(kernel.libc().syscall(_CREATE, None, 0, _ASK_VERSION)))
    except (AttributeError, OSError):
        return 0


def restrict(writable: Sequence[str], private_shm: bool, network: bool) -> None:
    """Refuse writes outside ``writable`` (files or folders), signals to others, and TCP unless ``network``."""
    found = version()
    if found < 1:
        return
    libc = kernel.libc()
    handled = _WRITE_ALL | (_REFER if found >= 2 else 0) | (_TRUNCATE if found >= 3 else 0)
    fields = [handled]
    if found >= 4:
        fields.append(0 if network else _TCP)
    if found >= 6:
        fields.append(_ABSTRACT_SOCKETS_AND_SIGNALS)
    attributes = struct.pack("=%dQ" % len(fields), *fields)
    rules = kernel.check(libc.syscall(_CREATE, attributes, len(attributes), 0))
    for path in writable:
        _allow(libc, rules, path, handled)
    for name in os.listdir("/dev"):
        if _HARMLESS_DEVICE.match(name):
            _allow(libc, rules, "/dev/" + name, handled & (_WRITE_FILE | _TRUNCATE))
    if not private_shm:
        _allow(libc, rules, "/dev/shm", handled & (_WRITE_FILE | _TRUNCATE | _MAKE_REG | _REMOVE_FILE))
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.check(libc.syscall(_RESTRICT, rules, 0))
    os.close(rules)


def _allow(libc: Any, rules: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= _WRITE_FILE | _TRUNCATE  # a rule on a file with a right on folders is refused whole
    rule = struct.pack("=Qi", rights, descriptor)
    libc.syscall(_ADD, rules, _PATH_BENEATH, rule, 0)
    os.close(descriptor)

"""A filter on system calls: what neither Landlock nor a namespace looks at.

Decision: no program sets the limits of another process, its server's among them. Where no namespace can be had, a
change of a file's mode, owner, time or attributes is pretended, so that scripts that copy files go on and the user's
files stay as they are; a socket of the network, or a look into another process, is refused.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from typing import Dict, List, NamedTuple, Tuple

from shrinkrepro.target import kernel

_PR_SET_SECCOMP, _FILTER = 22, 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # the operations of a filter that are used
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 32  # where in what a filter sees, in bytes
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_SET_FILTER, _NO_SLOWER = 1, 4  # of seccomp(): older kernels guard what is filtered against itself, at a price
_OTHER_ABI = 0x40000000  # numbers of a second set of calls, on x86-64

_NETWORK_FAMILIES = (2, 10, 17, 40)  # AF_INET, AF_INET6, AF_PACKET, AF_VSOCK


class _Calls(NamedTuple):
    """Numbers of calls on one architecture."""

    architecture: int
    seccomp: int
    socket: int
    prlimit: int
    refused: Tuple[int, ...]  # ptrace, process_vm_writev
    pretended: Tuple[int, ...]  # *chmod*, *chown*, *utime*, *setxattr*, *removexattr*


_CALLS: Dict[str, _Calls] = {
    "x86_64": _Calls(
        0xC000003E, 317, 41, 302, (101, 311),
        (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280, 452, 463, 466),
    ),
    "aarch64": _Calls(0xC00000B7, 277, 198, 261, (117, 271), (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, 452, 463, 466)),
}  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def known() -> bool:
    """Whether the calls of this machine are known, so that there can be a filter."""
    return sys.platform == "linux" and os.uname().machine in _CALLS


def restrict(network: bool, bare: bool) -> None:
    """Filter the calls of this process and of all that it starts. ``bare``: there is no namespace that does the rest;
    ``network``: leave its sockets as they are then."""
    calls = _CALLS[os.uname().machine]
    refusal = _ERRNO | errno.EPERM
    steps: List[Tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, calls.architecture),
        (_RETURN, 0, 0, refusal),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _OTHER_ABI),
        (_RETURN, 0, 0, refusal),
    ]
    steps += [
        (_EQUAL, 0, 8, calls.prlimit),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 5, 0, 0),  # its own
        (_LOAD, 0, 0, _THIRD_ARGUMENT),
        (_EQUAL, 0, 2, 0),
        (_LOAD, 0, 0, _THIRD_ARGUMENT + 4),
        (_EQUAL, 1, 0, 0),  # no new limits: it only reads
        (_RETURN, 0, 0, refusal),
        (_RETURN, 0, 0, _ALLOW),
    ]
    for numbers, answer in ((calls.refused, refusal), (calls.pretended, _ERRNO)):
        for number in numbers if bare else ():
            steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]
    if bare and not network:
        steps += [(_EQUAL, 1, 0, calls.socket), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, _FIRST_ARGUMENT)]
        for family in _NETWORK_FAMILIES:
            steps += [(_EQUAL, 0, 1, family), (_RETURN, 0, 0, refusal)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    text = b"".join(struct.pack("=HBBI", *step) for step in steps)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    program = _Program(len(steps), text)
    if kernel.libc().syscall(calls.seccomp, _SET_FILTER, _NO_SLOWER, ctypes.byref(program)) != 0:
        kernel.check(kernel.libc().prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.byref(program)))

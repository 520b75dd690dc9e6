"""The keeper: a small process that stands between the host and what runs in namespaces, and ends as that does.

Decision: a process can enter a PID namespace only by its children, and the first process of one does not feel its own
signals; so the host starts a keeper, which outlives everything inside and tells the host how it ended.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import resource
import signal
import struct
import sys
import time
from typing import Callable, List, NoReturn, Optional, Sequence, Tuple

from shrinkrepro.protocol import OVER_LIMIT
from shrinkrepro.target import kernel, namespaces
from shrinkrepro.target.processes import Watch, reap_orphans
from shrinkrepro.target.scratch import abandon
from shrinkrepro.target.setting import Setting

HOST_GONE = 89  # exit code of a server whose host ended without it
LOOK_SECONDS = 0.01  # between two looks at a program's end


def enter(setting: Setting, closed: Sequence[int] = (), told: Optional[Callable[[int], None]] = None) -> Setting:
    """Return in a child of this process, in namespaces, with the setting as it is there; this process keeps it.

    ``closed``: descriptors that the keeper has no business with. ``told`` is called in the keeper with the child's id.
    """
    return _enter(setting, closed, told, -1)


def enter_for_program(setting: Setting, memory: int) -> Setting:
    """The same for a process that becomes a program: another one before it watches what its processes take.

    ``memory``: bytes that they may have together; 0 for no limit.
    """
    result, end = os.pipe()
    inside = _enter(setting, [end], None, result)
    os.close(result)
    parent = os.getpid()
    pid = os.fork()
    if pid:
        with contextlib.suppress(BaseException):
            os.write(end, struct.pack("=i", _watched(pid, memory)))
        os._exit(0)
    os.close(end)
    kernel.die_with_parent(parent)
    return inside


def _enter(setting: Setting, closed: Sequence[int], told: Optional[Callable[[int], None]], result: int) -> Setting:
    os.makedirs(setting.scratch, exist_ok=True)
    scratch, writable, needed = _furniture(setting)
    flags = namespaces.best(setting.network, scratch, writable, needed) if setting.sandbox else 0
    if sys.platform == "linux":
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    parent = os.getpid()
    namespaces.leave_outer(flags)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    pid = os.fork()
    if pid:
        if told is not None:
            told(pid)
        for descriptor in closed:
            os.close(descriptor)
        _keep(pid, setting, result)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    kernel.die_with_parent(parent)
    if flags:
        namespaces.furnish(flags, scratch, writable, needed)
        kernel.drop_bounding_set()
    return dataclasses.replace(setting, namespaces=namespaces.names(flags))


def _furniture(setting: Setting) -> Tuple[str, List[str], List[str]]:
    """What ``namespaces`` asks for."""
    needed = [setting.cwd, setting.script_folder, setting.sys_path0, setting.preload, sys.prefix, sys.base_prefix]
    found = [path for path in [*needed, *sys.path] if path]
    return setting.scratch, [*setting.shared, *setting.allow_write], found


def _keep(pid: int, setting: Setting, result: int) -> NoReturn:
    """Wait for the child and end as it did, or as it said on the pipe ``result``. SIGTERM kills it."""

    def stop(*ignored: object) -> None:
        os.kill(pid, signal.SIGKILL)

    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host decides what Ctrl-C means
        signal.signal(signal.SIGTERM, stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        code = _code(os.waitpid(pid, 0)[1])
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        reap_orphans()
        said = os.read(result, 4) if result >= 0 else b""
        code = struct.unpack("=i", said)[0] if said else code
        if code == HOST_GONE and result < 0:
            abandon([setting.scratch, *setting.shared])
        if code < 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if -code not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
            time.sleep(1.0)  # the signal is on its way
    finally:
        os._exit(code if code >= 0 else 1)


def _watched(pid: int, memory: int) -> int:
    """How the program ended, as ``Popen`` says it; it and all that it started are gone."""
    watch = Watch(memory)
    code = None
    while code is None:
        found, status = os.waitpid(pid, os.WNOHANG)
        excess = watch.excess()
        if found:
            code = _code(status)
        elif excess:
            os.write(2, ("\n%s\n" % excess).encode())
            os.kill(pid, signal.SIGKILL)
            code = OVER_LIMIT
        else:
            time.sleep(LOOK_SECONDS)
    reap_orphans()
    return code


def _code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

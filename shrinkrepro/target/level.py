"""The level of confinement that holds, in one line.

Decision: it is seen and not foretold: a child that runs nothing takes the confinement on and tells what came of it.
"""

from __future__ import annotations

import os

from shrinkrepro.target import landlock, seccomp
from shrinkrepro.target.child import confined
from shrinkrepro.target.scratch import remove
from shrinkrepro.target.setting import Setting

_LACKS = ((6, "signals"), (4, "TCP"), (3, "truncation"))  # what Landlock cannot refuse before each version


def probe(setting: Setting) -> str:
    """How programs of ``setting`` are confined on this machine, in words."""
    if not setting.sandbox:
        return "none: programs run as you do (--no-sandbox)"
    parts = ["namespaces (%s)" % ", ".join(setting.namespaces)] if setting.namespaces else []
    overlaid = _overlaid(setting)
    parts += ["overlays" if overlaid else "a mirror of the working folder"]
    found = landlock.version() if os.name == "posix" and os.path.isdir("/proc/self") else 0
    if found:
        lacks = [what for since, what in _LACKS if found < since]
        parts += ["Landlock %d" % found + (" (without %s)" % " and ".join(lacks) if lacks else "")]
    if "mount" not in setting.namespaces and seccomp.known():
        parts += ["a filter on system calls"]
    if not found and not setting.namespaces:
        parts += ["else only what Python itself is asked to do: the kernel has no Landlock"]
    if not setting.network and "network" not in setting.namespaces:
        parts += ["no network" if seccomp.known() else "no TCP" if found >= 4 else "the network is not refused"]
    elif setting.network:
        parts += ["network allowed"]
    return "; ".join(parts)


def _overlaid(setting: Setting) -> bool:
    """Whether a child sees its working folder under an overlay."""
    folder = os.path.join(setting.scratch, "probe")
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(readable)
            os.makedirs(folder, exist_ok=True)
            seen = confined(folder, setting, [])
            os.write(writable, b"1" if seen.cwd == setting.cwd else b"0")
        finally:
            os._exit(0)
    os.close(writable)
    said = os.read(readable, 1)
    os.close(readable)
    os.waitpid(pid, 0)
    remove(folder)
    return said == b"1"

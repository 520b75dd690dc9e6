"""The last resort where the kernel confines nothing: an audit hook that refuses what Python is asked to do.

Decision: it sees what goes through Python and nothing of what libraries in C do by themselves, which is why it stands
in only where there is neither Landlock nor a namespace; it is told to the user as the weakest level.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import types
from typing import Any, List, Sequence

from shrinkrepro.target import landlock
from shrinkrepro.target.setting import Setting

# Events whose path arguments, at these places, name what is changed. ``open`` is looked at by its flags.
_CHANGES = {
    "os.remove": (0,), "os.rename": (0, 1), "os.rmdir": (0,), "os.mkdir": (0,), "os.truncate": (0,), "os.chmod": (0,),
    "os.chown": (0,), "os.link": (1,), "os.symlink": (1,), "os.utime": (0,), "shutil.rmtree": (0,),
    "shutil.move": (0, 1), "os.setxattr": (0,), "os.removexattr": (0,), "sqlite3.connect": (0,),
}  # fmt: skip
_REFUSED = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "subprocess.Popen", "os.kill",
            "os.killpg", "signal.pthread_kill", "os.forkpty", "pty.spawn")  # fmt: skip
_NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@functools.lru_cache(maxsize=1)
def can_be_spared() -> bool:
    """Whether the kernel refuses writes by itself."""
    return sys.platform == "linux" and landlock.version() > 0


def install(writable: Sequence[str], network: bool) -> None:
    """Refuse for good changes outside ``writable``, programs, signals, and the network unless it is allowed."""
    folders = [os.path.realpath(path) for path in writable]
    own, real, fspath = os.getpid(), os.path.realpath, os.fspath
    devices = (os.devnull, "/dev/tty", "/dev/shm")

    def is_inside(path: Any) -> bool:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return True  # an open descriptor, which was looked at when it was opened
        name = real(os.fsdecode(fspath(path)))
        return any(name == folder or name.startswith(folder + os.sep) for folder in (*folders, *devices))

    def hook(event: str, arguments: Any) -> None:
        if event == "open":
            path, _, flags = arguments
            refused = isinstance(flags, int) and flags & _WRITING and not is_inside(path)
        elif event in _CHANGES:
            refused = not all(is_inside(arguments[k]) for k in _CHANGES[event] if k < len(arguments))
        elif event in ("os.kill", "os.killpg"):
            refused = arguments[0] != own
        else:
            refused = event in _REFUSED or (not network and event in _NETWORK)
        if refused:
            raise PermissionError(1, "confined: %s%r is refused" % (event, tuple(arguments)[:2]))

    sys.addaudithook(hook)


def command(plain: Sequence[str], setting: Setting) -> List[str]:
    """``python FILE ARGS`` with the hook installed first."""
    writable = [setting.scratch, *setting.shared, *setting.allow_write]
    launch = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.py")
    return [plain[0], launch, "audited", json.dumps([writable, setting.network]), *plain[1:]]


def main(arguments: List[str]) -> None:
    """Install the hook and become the file that is named, as ``python FILE`` would."""
    folders, network = json.loads(arguments[0])
    sys.argv = arguments[1:]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    module = types.ModuleType("__main__")
    module.__file__ = sys.argv[0]
    vars(module).update(__builtins__=sys.modules["builtins"], __annotations__={})
    sys.modules["__main__"] = module
    with open(sys.argv[0], "rb") as file:
        code = compile(file.read(), sys.argv[0], "exec", dont_inherit=True)
    install(folders, network)
    exec(code, vars(module))

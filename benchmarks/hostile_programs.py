"""Programs that would do harm, each with the ways in which it may end, and the canaries that they aim at.

Decision: they aim at canaries alone (folders, processes and listeners planted for the purpose), so that one which is
not stopped shows and harms nothing; those that could not be aimed first make sure that they are inside.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import shrinkrepro
from shrinkrepro.protocol import EXCEPTION, EXIT, LOST, OK, SIGNAL, TIMEOUT

SECONDS = 0.5  # that a hostile program gets
MEMORY = 1 << 30  # bytes that each may have
NAMES_PORT = 53  # where a resolver asks

ANY = frozenset({OK, EXCEPTION, EXIT, SIGNAL, TIMEOUT, LOST})  # the process's own business; only others count

_CALL = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
_DENIED = "raise OSError(ctypes.get_errno(), 'denied')\n"
# in a PID namespace, where nobody else is; @ROOT@ is a file that only a free root has
_INSIDE = (
    "import os\nassert os.getppid() == 1 or os.path.exists('@ROOT@')\n"
    "assert sum(name.isdigit() for name in os.listdir('/proc')) < 9\n"
)
# where a text lies in the server, from which this process was forked
_ADDRESS = "import string, sys\ntext = string.punctuation\naddress = id(text) + sys.getsizeof(text) - len(text) - 1\n"

_FULL = frozenset({EXCEPTION, TIMEOUT})  # of what there is; or not fast enough

# name -> (what it does, how it may end). @HOME@ and so on are the canaries.
_PROGRAMS: Mapping[str, tuple[str, str | frozenset[str]]] = {
    "infinite loop": ("while True: pass\n", TIMEOUT),
    "sleep": ("import time\ntime.sleep(1000)\n", TIMEOUT),
    "loop that ignores every signal": (
        "import signal\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except OSError: pass\n"
        "while True: pass\n",
        TIMEOUT,
    ),
    "catches everything, for ever": ("while True:\n    try: 1 / 0\n    except BaseException: pass\n", TIMEOUT),
    "waits for input": ("print(repr(input()))\n", EXCEPTION),
    "fork bomb": ("import os\nwhile True:\n    os.fork()\n", frozenset({LOST, TIMEOUT, EXCEPTION})),
    "fork bomb of orphans": (
        "import os\nwhile True:\n    if os.fork() == 0:\n        os.setsid()\n",
        frozenset({LOST, TIMEOUT, EXCEPTION}),
    ),
    "fork bomb of a shell": (
        "import os\nos.system('f() { f | f & }; f; sleep 5')\n",
        frozenset({OK, LOST, TIMEOUT, EXCEPTION}),
    ),
    "thread bomb": (
        "import threading, time\nwhile True:\n"
        "    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n",
        frozenset({EXCEPTION, TIMEOUT}),
    ),
    "memory bomb": ("kept = []\nwhile True:\n    kept.append(bytearray(1 << 26))\n", _FULL),
    "memory bomb of tensors": (
        "import torch\nkept = []\nwhile True:\n    kept.append(torch.ones(1 << 24))\n",
        _FULL,
    ),
    "memory bomb of many": (
        "import os, time\nfor _ in range(40):\n    if os.fork() == 0:\n"
        "        kept = b'x' * (1 << 28)\n        time.sleep(1000)\n"
        "time.sleep(1000)\n",
        frozenset({LOST, TIMEOUT, EXCEPTION}),
    ),
    "shared memory bomb": (
        "n = 0\nwhile True:\n    open('/dev/shm/x%d' % n, 'wb').write(b'x' * (1 << 26))\n    n += 1\n",
        frozenset({EXCEPTION, TIMEOUT}),
    ),
    "endless output": ("import os\nwhile True:\n    os.write(1, b'x' * (1 << 22))\n", frozenset({EXCEPTION, TIMEOUT})),
    "endless files": (
        "n = 0\nwhile True:\n    open('f%d' % n, 'w').close()\n    n += 1\n",
        frozenset({EXCEPTION, TIMEOUT}),
    ),
    "large files beside itself": (
        "import os\nn = 0\nwhile True:\n    open(__file__ + str(n), 'wb').write(b'x' * (1 << 26))\n    n += 1\n",
        frozenset({EXCEPTION, TIMEOUT}),
    ),
    "endless descriptors": ("import os\nkept = []\nwhile True:\n    kept.append(os.dup(1))\n", EXCEPTION),
    "deep recursion": (
        "import sys\nsys.setrecursionlimit(10**9)\nf = lambda: f()\nf()\n",
        frozenset({SIGNAL, EXCEPTION, LOST, TIMEOUT}),
    ),
    "os._exit(0)": ("import os\nos._exit(0)\n", OK),
    "os._exit(3)": ("import os\nos._exit(3)\n", EXIT),
    "segfault": ("import ctypes\nctypes.string_at(0)\n", SIGNAL),
    "abort": ("import os\nos.abort()\n", SIGNAL),
    "memory of the interpreter overwritten": ("import ctypes\nctypes.memset(id(None), 0, 64)\nprint(None)\n", ANY),
    "SIGSTOP of itself": ("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n", TIMEOUT),
    "kills its parent": ("import os\nos.kill(os.getppid(), 9)\n", frozenset({OK, EXCEPTION})),
    "stops its parent": ("import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n", frozenset({OK, EXCEPTION})),
    "interrupts its parent": ("import os, signal\nos.kill(os.getppid(), signal.SIGINT)\n", frozenset({OK, EXCEPTION})),
    "kills its group": ("import os\nos.killpg(0, 9)\n", SIGNAL),
    "kills everything that it may": (_INSIDE + "os.kill(-1, 9)\n", frozenset({OK, EXCEPTION})),
    "kills a process of the user": ("import os\nos.kill(@PROCESS@, 9)\n", frozenset({EXCEPTION, OK})),
    "kills by a shell": ("import os\nos.system('kill -9 @PROCESS@ $PPID; kill -9 0')\n", ANY),
    "closes what it inherited": ("import os\nos.closerange(3, 4096)\n", frozenset({LOST, OK, EXCEPTION, EXIT})),
    "closes everything": ("import os\nos.closerange(0, 4096)\n", frozenset({LOST, OK, EXCEPTION, EXIT})),
    "writes into every descriptor": (
        "import os\nfor n in range(3, 64):\n"
        "    try: os.write(n, b'{\"execution\": 1}\\n{]\\n\\xff')\n    except OSError: pass\n",
        frozenset({OK, LOST}),
    ),
    "floods every descriptor": (
        "import os\nfor n in range(3, 64):\n    for _ in range(40):\n        try: os.write(n, b'x' * (1 << 20))\n"
        "        except OSError: break\n",
        frozenset({OK, LOST, TIMEOUT}),
    ),
    "a thread left running": (
        "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()\n",
        OK,
    ),
    "a thread that never ends": (
        "import threading\nthreading.Thread(target=threading.Event().wait).start()\n",
        TIMEOUT,
    ),
    "a process left running": (
        "import subprocess\nsubprocess.Popen(['sleep', '@MARK@'], start_new_session=True)\n",
        OK,
    ),
    "an exit handler that hangs": ("import atexit, time\natexit.register(time.sleep, 1000)\n", OK),
    "a finaliser that hangs": (
        "import time\nclass Hangs:\n    def __del__(self): time.sleep(1000)\nkept = Hangs()\nkept.self = kept\n",
        frozenset({OK, TIMEOUT}),
    ),
    "a trace function left on": (
        "import sys\ndef trace(frame, event, arg):\n    raise RuntimeError('traced')\nsys.settrace(trace)\n",
        frozenset({OK, EXCEPTION, LOST}),
    ),
    "torch patched": (
        "import torch\ntorch.ones = torch.Tensor.__add__ = torch.func.vmap = None\n"
        "torch.set_default_dtype(torch.float64)\n",
        OK,
    ),
    "builtins patched": (
        "import builtins\nbuiltins.print = builtins.open = builtins.len = None\n",
        frozenset({OK, LOST}),
    ),
    "json and os patched": (
        "import json, os\njson.dumps = os.write = os._exit = os.getpid = None\n",
        frozenset({OK, LOST, EXIT}),
    ),
    "modules thrown away": ("import sys\nsys.modules.clear()\n", ANY),
    "environment thrown away": ("import os\nos.environ.clear()\nos.chdir('/')\n", OK),
    "its own source overwritten": ("open(__file__, 'w').write('changed')\n", OK),
    # Refused; below the temporary folder or HOME, which are under an overlay, it is done to a copy.
    "our source opened for writing": (
        "import os\nopen('@OURS@', 'a').close()\nos.utime('@OURS@', (1, 1))\n",
        frozenset({EXCEPTION, OK}),
    ),
    "torch opened for writing": (
        "import os, torch\nopen(torch.__file__, 'a').close()\nos.utime(torch.__file__, (1, 1))\n",
        frozenset({EXCEPTION, OK}),
    ),
    "rmtree of HOME": ("import shutil\nshutil.rmtree('@HOME@', ignore_errors=True)\n", OK),
    "rmtree of the script's folder": ("import shutil\nshutil.rmtree('@FOLDER@', ignore_errors=True)\n", OK),
    "rmtree of a tree elsewhere": ("import shutil\nshutil.rmtree('@OUTSIDE@')\n", EXCEPTION),
    "rm by a shell": ("import os\nos.system('rm -rf @HOME@ @FOLDER@ @OUTSIDE@')\n", OK),
    "truncates by an absolute path": ("open('@OUTSIDE@/canary', 'w')\n", EXCEPTION),
    "writes through a link": (
        "import os\nos.symlink('@OUTSIDE@/canary', 'link')\nopen('link', 'w').write('dead')\n",
        EXCEPTION,
    ),
    "makes a hard link": ("import os\nos.link('@OUTSIDE@/canary', '@OUTSIDE@/link')\n", EXCEPTION),
    "moves a folder away": ("import os\nos.rename('@OUTSIDE@', '@OUTSIDE@.gone')\n", EXCEPTION),
    "takes the rights to a file": ("import os\nos.chmod('@OUTSIDE@/canary', 0)\n", EXCEPTION),
    "sets the time of a file": ("import os\nos.utime('@OUTSIDE@/canary', (1, 1))\n", EXCEPTION),
    "sets an attribute of a file": ("import os\nos.setxattr('@OUTSIDE@/canary', 'user.dead', b'1')\n", EXCEPTION),
    "writes by another process": (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', \"open('@OUTSIDE@/canary', 'w')\"], check=True)\n",
        EXCEPTION,
    ),
    "rmtree of another candidate's scratch": ("import shutil\nshutil.rmtree('@SCRATCH@', ignore_errors=True)\n", OK),
    "another candidate's program overwritten": (
        "open('@SCRATCH@/canary', 'w').write('dead')\n",
        frozenset({OK, EXCEPTION}),  # where an overlay is, it works and is seen by nobody
    ),
    "the next candidate's scratch made": (
        "import os\nabove, own = os.path.split(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))\n"
        "os.makedirs(os.path.join(above, 'c%d' % (int(own[1:]) + 1), 'p0'))\n",
        EXCEPTION,
    ),
    "connects by TCP": ("import socket\nsocket.create_connection(('127.0.0.1', @TCP@), 1).send(b'x')\n", EXCEPTION),
    "sends by UDP": (
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', @UDP@))\n",
        frozenset({OK, EXCEPTION}),
    ),
    "connects to a socket in a folder": (
        "import socket\nwith socket.socket(socket.AF_UNIX) as s:\n    s.connect('@SOCKET@')\n    s.send(b'x')\n",
        EXCEPTION,
    ),
    "connects to an abstract socket": (
        "import socket\nwith socket.socket(socket.AF_UNIX) as s:\n    s.connect('\\0@ABSTRACT@')\n    s.send(b'x')\n",
        EXCEPTION,
    ),
    "looks a name up": ("import socket\nsocket.getaddrinfo('localhost.invalid', 80)\n", EXCEPTION),
    "attaches to its parent": (
        _CALL + f"if libc.ptrace(16, os.getppid(), None, None) != 0: {_DENIED}",
        EXCEPTION,
    ),
    "opens its parent's memory": ("import os\nopen('/proc/%d/mem' % os.getppid(), 'r+b')\n", EXCEPTION),
    "writes into its server's memory": (
        _ADDRESS + "import os\nwith open('/proc/%d/mem' % os.getppid(), 'r+b', 0) as file:\n"
        "    file.seek(address)\n    file.write(b'?' * 8)\n",
        EXCEPTION,
    ),
    "writes into its server's memory by a call": (
        _CALL + _ADDRESS + "class Part(ctypes.Structure):\n"
        "    _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]\n"
        "said = ctypes.create_string_buffer(b'?' * 8)\n"
        "here, there = Part(ctypes.addressof(said), 8), Part(address, 8)\n"
        f"if libc.process_vm_writev(os.getppid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0) != 8: {_DENIED}",
        EXCEPTION,
    ),
    "unmounts its overlay": (_CALL + f"if libc.umount2(b'@FOLDER@', 2) != 0: {_DENIED}", EXCEPTION),
    "mounts in a namespace of its own": (
        _CALL + f"libc.unshare(0x10020000)\nif libc.mount(b't', b'@FOLDER@', b'tmpfs', 0, None) != 0: {_DENIED}",
        EXCEPTION,
    ),
    "takes a new root": (_CALL + f"if libc.chroot(b'@FOLDER@') != 0: {_DENIED}", EXCEPTION),
    "names the machine": (
        _CALL + f"name = os.uname().nodename.encode()\nif libc.sethostname(name, len(name)) != 0: {_DENIED}",
        EXCEPTION,
    ),
    "sets its server's limits": (
        "import os, resource\nresource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (4, 4))\n",
        EXCEPTION,
    ),
    "raises its limits": (
        "import resource as r\nr.setrlimit(r.RLIMIT_FSIZE, (r.RLIM_INFINITY, r.RLIM_INFINITY))\n",
        EXCEPTION,
    ),
    "asks for real-time priority": (
        "import os\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))\n",
        EXCEPTION,
    ),
    "a device made": ("import os, stat\nos.mknod('zero', 0o600 | stat.S_IFCHR, os.makedev(1, 5))\n", EXCEPTION),
    "a setting of the kernel": ("open('/proc/sys/kernel/core_pattern', 'a')\n", EXCEPTION),
    "shared memory left behind": (
        _CALL + "libc.shmget.restype = ctypes.c_int\nassert libc.shmget(0x5EED, 4096, 0o1600) >= 0\n"
        "open('/dev/shm/left', 'w').close()\nopen('/tmp/left', 'w').close()\n",
        OK,
    ),
}

NAMES = tuple(_PROGRAMS)


# Seconds each, and much like another: for ``make hostile``, not for every run of the tests.
_HEAVY = frozenset({"fork bomb of orphans", "memory bomb of tensors", "large files beside itself", "shared memory bomb",
                    "floods every descriptor", "catches everything, for ever", "deep recursion"})  # fmt: skip


@dataclass(frozen=True)
class Hostile:
    """One program: its text with the canaries in place, and the statuses that its run may have."""

    name: str
    source: str
    endings: frozenset[str]


# Run after each hostile program, in the same request: it sees whether something was left for it.
INNOCENT = """\
import ctypes, os, string, torch
assert string.punctuation.startswith("!")
assert torch.func.vmap(lambda x: x + 1)(torch.ones(2)).tolist() == [2.0, 2.0]
assert torch.ones(1).dtype == torch.float32
assert sorted(os.listdir(".")) == ["canary", "script.py"], os.listdir(".")
assert not os.path.exists("/dev/shm/left") and not os.path.exists("/tmp/left")
assert ctypes.CDLL(None).shmget(0x5EED, 4096, 0o600) < 0
assert print is not None and os.environ.get("HOME")
raise KeyError("innocent")
"""


@dataclass
class Canaries:
    """What hostile programs aim at. Use as a context manager; ``dead`` names those that were reached."""

    home: Path
    folder: Path  # the script's
    outside: Path  # where no overlay is
    other: Path  # another candidate's scratch
    root: str = ""  # a file that only a free root has; there the control run takes the place of the confinement
    kept: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> Canaries:
        for place in (self.home, self.folder, self.outside, self.other):
            place.mkdir(parents=True, exist_ok=True)
            (place / "canary").write_text("alive")
        self._process = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(3600)"], stdin=subprocess.DEVNULL, start_new_session=True
        )
        self.kept.callback(self._process.wait)
        self.kept.callback(self._process.kill)
        self._tcp = self.kept.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._udp = self.kept.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._udp.bind(("127.0.0.1", 0))
        self._names = self.kept.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._names.bind(("127.0.0.1", NAMES_PORT if self.root else 0))
        self._unix = self.kept.enter_context(socket.socket(socket.AF_UNIX))
        self._unix.bind(str(self.home / "socket"))
        self._abstract = self.kept.enter_context(socket.socket(socket.AF_UNIX))
        self._abstract.bind(f"\0canary-{os.getpid()}")
        for listener in (self._unix, self._abstract):
            listener.listen()
        for listener in (self._tcp, self._udp, self._names, self._unix, self._abstract):
            listener.setblocking(False)
        return self

    def __exit__(self, *ignored: object) -> None:
        self.kept.close()

    @property
    def process(self) -> int:
        """The id of the process that is a canary."""
        return self._process.pid

    @property
    def mark(self) -> str:
        """What the command line of a process that is left behind has in it."""
        return f"3600.{os.getpid()}"

    def programs(self, heavy: bool = True) -> list[Hostile]:
        """All programs, or all but the ``heavy`` ones, aimed at these canaries."""
        aims = {
            "@HOME@": str(self.home),
            "@FOLDER@": str(self.folder),
            "@OUTSIDE@": str(self.outside),
            "@SCRATCH@": str(self.other),
            "@ROOT@": self.root,
            "@PROCESS@": str(self._process.pid),
            "@MARK@": self.mark,
            "@OURS@": str(shrinkrepro.__file__),
            "@TCP@": str(self._tcp.getsockname()[1]),
            "@UDP@": str(self._udp.getsockname()[1]),
            "@SOCKET@": str(self.home / "socket"),
            "@ABSTRACT@": f"canary-{os.getpid()}",
        }
        found = []
        for name, (source, endings) in _PROGRAMS.items():
            if name in _HEAVY and not heavy:
                continue
            for sign, value in aims.items():
                source = source.replace(sign, value)
            found.append(Hostile(name, source, frozenset({endings}) if isinstance(endings, str) else endings))
        return found

    def dead(self) -> list[str]:
        """The canaries that something happened to."""
        found = []
        places = (self.home, self.folder, self.outside, self.other)
        for name, place in zip(("HOME", "the script's folder", "outside", "another candidate's scratch"), places):
            canary = place / "canary"
            if not canary.exists() or canary.read_text() != "alive" or canary.stat().st_mode & 0o777 == 0:
                found.append(name)
            if canary.exists() and (canary.stat().st_mtime < 10 or canary.stat().st_nlink != 1):
                found.append(name)
        for name in ("shrinkrepro", "torch"):
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.origin is not None and Path(spec.origin).stat().st_mtime < 10:
                found.append(f"the source of {name}")
        if self._process.poll() is not None:
            found.append("a process")
        for name, listener in (("TCP", self._tcp), ("a socket", self._unix), ("an abstract socket", self._abstract)):
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                found.append(name)
        for name, listener in (("UDP", self._udp), ("the name server", self._names)):
            with contextlib.suppress(BlockingIOError):
                listener.recv(1)
                found.append(name)
        return found


def planted(scratch: Path, root: str = "") -> Canaries:
    """Canaries in new folders: one beside the temporary folder, which is under an overlay, two in it, and one among the
    files of a pool whose folder is ``scratch``. ``root``: as in ``Canaries``."""
    inside = Path(tempfile.mkdtemp(prefix="hostile-"))
    outside = Path(tempfile.mkdtemp(prefix="hostile-", dir="/var/tmp"))
    return Canaries(inside / "home", inside / "folder", outside / "tree", scratch / "server99" / "c1", root)

"""The control of ``make hostile``: the same programs with nothing that confines them, in a free root, with canaries of
its own. ``python -m benchmarks.unconfined [NAME ...]`` prints a line of JSON for each: what it reached there.

Decision: each program is run as a reducer without confinement would: in a process that a server has forked, with the
next program after it in the same process. What has no end is ended as soon as it took more than a confined program may.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import resource
import select
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.free_root import MARK, Root, bounds_processes, live
from benchmarks.hostile_programs import MEMORY, NAMES, SECONDS, Hostile, planted
from shrinkrepro.protocol import OK
from shrinkrepro.target import kernel
from shrinkrepro.target.attend import queued
from shrinkrepro.target.confine import OVERLAY_BYTES
from shrinkrepro.target.limits import FILE_BYTES
from shrinkrepro.target.processes import MOST_PROCESSES, private_bytes

LOOK_SECONDS = 0.005  # between two looks at a program
MOST_QUEUED = 5.0  # seconds that it may have waited for the processor beyond its time
FILLING_SECONDS = 3.0  # that a program gets more, which is on its way to fill the disk
SLACK_BYTES = MEMORY // 4  # beyond ``MEMORY``, at which the kernel refuses it more
_FORKS = ("fork()", "f | f")  # marks of programs that start many
_SHARED = 0x5EED  # the key of their shared memory

# Run in the same process after each, and without torch, which would take seconds.
NEXT = """\
import ctypes, os, string, sys, threading
assert string.punctuation.startswith("!")
assert sorted(os.listdir(".")) == ["canary", "script.py"]
assert not os.path.exists("/dev/shm/left") and not os.path.exists("/tmp/left")
assert ctypes.CDLL(None).shmget(0x5EED, 4096, 0o600) < 0
assert print is not None and len("ab") == 2 and os.environ.get("HOME")
assert threading.active_count() == 1 and sys.gettrace() is None
if "torch" in sys.modules:
    import torch
    assert torch.ones(1).dtype == torch.float32
raise KeyError("innocent")
"""


@dataclass(frozen=True)
class Reached:
    """What one program did in the free root: how it ended, in words, and the canaries that died."""

    name: str
    ended: str
    deaths: tuple[str, ...]
    left_out: str = ""  # why it was not run


def control(names: Sequence[str] = ()) -> dict[str, Reached]:
    """Run the control in a process of its own; what each program (of ``names``, or of all) reached.

    Raises:
        RuntimeError: there can be no free root here, and nothing was run.
    """
    command = [sys.executable, "-m", "benchmarks.unconfined", *names]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"the control run ended by {done.returncode}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["name"]: Reached(row["name"], row["ended"], tuple(row["deaths"]), row["left_out"]) for row in rows}


@dataclass
class _Seen:
    """What the watch over one program saw."""

    candidate: int = 0
    ended: str = ""  # as the program's own process told
    undisturbed: bool = False  # the next program in that process
    junk: bool = False  # in the pipe in which that is told
    excess: str = ""  # what it had more of than a confined one may, and was ended for
    server: str = ""  # what became of it
    rest: bytes = b""

    def take(self, data: bytes) -> None:
        """Take in what came through the pipe."""
        *lines, rest = (self.rest + data).split(b"\n")
        self.rest = rest[:4096]
        for line in lines:
            word, _, value = line.partition(b" ")
            if word == b"ready":
                self.candidate = int(value)
            elif word == b"ended":
                self.ended = value.decode(errors="replace")
            elif word == b"next":
                self.undisturbed = value == b"well"
            else:
                self.junk = True


def attempt(root: Root, name: str) -> Reached:
    """Let the program ``name`` do what it would, and clean up after it.

    Raises:
        Refused: this process is not in ``root``.
    """
    root.check()
    scratch = Path(tempfile.mkdtemp())
    canaries = planted(scratch, MARK)
    canaries.folder.mkdir()
    kernel.mount("tmpfs", str(canaries.folder), "tmpfs", 0)  # one that can be taken away, as an overlay is
    with canaries:
        (canaries.folder / "script.py").touch()
        [program] = [program for program in canaries.programs() if program.name == name]
        if any(sign in program.source for sign in _FORKS) and not bounds_processes():
            return Reached(name, "", (), "this kernel does not bound the processes of a namespace")
        seen = _watched(root, program, scratch, canaries.folder, canaries.home)
        time.sleep(0.05 if seen.server else 0.0)  # for what was killed with it
        deaths = list(dict.fromkeys(canaries.dead()))
        alive = _others() - {canaries.process}
        _end_all()
    if seen.ended.startswith("BlockingIOError"):  # as many as there are numbers for
        seen.excess = f"processes (more than {MOST_PROCESSES})"
    deaths += [seen.excess] if seen.excess else []
    deaths += [seen.server] if seen.server else []
    if (scratch / "server1" / "c2").exists():
        deaths.append("the next candidate's scratch")
    if alive and not seen.excess and not seen.server:
        deaths.append("a process left behind")
    if seen.junk:
        deaths.append("what tells its verdict")
    if not seen.undisturbed and not seen.excess and not seen.server:
        deaths.append("the next program")
    if seen.ended == OK and OK not in program.endings and not deaths:
        deaths.append("a right (it was let)")
    kernel.libc().umount2(os.fsencode(canaries.folder), 2)
    for place in ("/tmp", "/var/tmp", "/dev/shm"):
        for entry in os.scandir(place):
            shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.remove(entry.path)
    kernel.libc().shmctl(kernel.libc().shmget(_SHARED, 0, 0), 0, None)
    return Reached(name, seen.ended or "told nothing", tuple(deaths))


def _watched(root: Root, program: Hostile, scratch: Path, folder: Path, home: Path) -> _Seen:
    """Fork a server that runs ``program``, and look at both until there is nothing more to see."""
    told, tell = os.pipe()
    stdin, held = os.pipe()
    os.set_blocking(told, False)
    server = os.fork()
    if server == 0:
        leave = os._exit
        try:
            os.close(told)
            os.close(held)
            leave(_serve(root, program, scratch / "server1" / "c1" / "p0", folder, home, tell, stdin))
        finally:
            leave(4)
    os.close(tell)
    os.close(stdin)
    seen = _Seen()
    used = _used()
    memory = private_bytes(os.getpid())
    end = time.monotonic() + 60.0  # for it to be ready
    while not seen.server and not seen.excess:
        ready = select.select([told], [], [], LOOK_SECONDS)[0]
        before = seen.candidate
        if ready:
            data = os.read(told, 1 << 20)
            seen.take(data)
            if not data:
                time.sleep(LOOK_SECONDS)
        if seen.candidate and not before:
            end = time.monotonic() + 2 * SECONDS
            memory = private_bytes(server)
        found, status = os.waitpid(server, os.WNOHANG | os.WUNTRACED)
        if found:
            seen.server = _fate(status)
            break
        seen.excess = _excess(server, memory, used, end, seen.candidate)
    with contextlib.suppress(BlockingIOError):
        seen.take(os.read(told, 1 << 20))
    os.close(told)
    os.close(held)
    return seen


def _fate(status: int) -> str:
    """What became of the server, if anything did."""
    if os.WIFSTOPPED(status) or os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 4:
        return "the server"
    return "the server's memory" if os.WEXITSTATUS(status) == 3 else ""


def _excess(server: int, memory: int, used: int, end: float, candidate: int) -> str:
    """What there is more of than a confined program may have. ``memory``: bytes that the server has itself; ``used``:
    those of files that there were."""
    others = _others()
    if len(others) > MOST_PROCESSES:
        return f"processes (more than {MOST_PROCESSES})"
    if sum(max(0, private_bytes(pid) - memory) for pid in others if pid != server) > MEMORY:
        return f"memory (more than {MEMORY >> 20} MB)"
    if _used() - used > OVERLAY_BYTES:
        return f"disk (more than {OVERLAY_BYTES >> 20} MB)"
    if any(path.stat().st_size > FILE_BYTES for path in Path("/tmp").glob("tmp*/server1/c1/out")):
        return f"output (more than {FILE_BYTES >> 20} MB)"
    late = time.monotonic() - end
    late -= FILLING_SECONDS if _used() - used > SLACK_BYTES else 0.0
    if late > 0 and late > min(queued(candidate), MOST_QUEUED):
        return "time (no end)"
    return ""


def _used() -> int:
    """Bytes that files take."""
    found = [os.statvfs(place) for place in ("/tmp", "/dev/shm")]
    return sum((each.f_blocks - each.f_bfree) * each.f_frsize for each in found)


def _others() -> set[int]:
    """The processes of this namespace but the first that are not zombies."""
    found = set()
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and name != "1" and _state(name) not in "ZX":
                found.add(int(name))
    return found


def _state(pid: str) -> str:
    with open(f"/proc/{pid}/stat", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def _end_all() -> None:
    """Kill and collect every process of this namespace but the first, which this one is."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _serve(root: Root, program: Hostile, place: Path, folder: Path, home: Path, tell: int, stdin: int) -> int:
    """The server: forks the program's process and waits for it; 3 where its own memory was written to."""
    root.check()
    os.setsid()
    os.nice(19)
    if "import torch" in program.source:
        import torch

        torch.set_num_threads(1)
    if any(sign in program.source for sign in _FORKS):  # many of them weigh little beside who watches them
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    pid = os.fork()
    if pid == 0:
        leave = os._exit
        try:
            _be_candidate(root, program, place, folder, home, tell, stdin)
        finally:
            leave(0)
    os.write(tell, b"ready %d\n" % pid)
    os.waitpid(pid, 0)
    return 0 if string.punctuation.startswith("!") else 3


def _be_candidate(root: Root, program: Hostile, place: Path, folder: Path, home: Path, tell: int, stdin: int) -> None:
    """Run the program, and the next one, in this process."""
    root.check()
    own = os.getpid()
    place.mkdir(parents=True)
    (place / "script.py").write_text(program.source)
    out = os.open(place.parent / "out", os.O_RDWR | os.O_CREAT)
    for descriptor, wanted in ((stdin, 0), (out, 1), (out, 2)):
        os.dup2(descriptor, wanted)
    os.chdir(folder)
    os.environ["HOME"] = str(home)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/statm") as file:
        most = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + MEMORY + SLACK_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    ended = _run(program.source, str(place / "script.py"))
    if os.getpid() != own:
        return
    os.write(tell, b"ended %s\n" % ended.splitlines()[0].encode())
    gc.collect()
    if _run(NEXT, "next.py") == "KeyError: 'innocent'":
        for thread in threading.enumerate():
            if thread is not threading.main_thread() and not thread.daemon:
                thread.join()
        atexit._run_exitfuncs()
        os.write(tell, b"next well\n")


def _run(source: str, path: str) -> str:
    """How it ended."""
    try:
        exec(compile(source, path, "exec"), {"__name__": "__main__", "__file__": path})
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return OK


def _all_in(root: Root, names: Sequence[str]) -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for name in names:
        print(json.dumps(asdict(attempt(root, name))), flush=True)


if __name__ == "__main__":
    chosen = sys.argv[1:] or NAMES
    strange = [name for name in chosen if name not in NAMES]
    if strange:
        sys.exit(f"no hostile program is called {strange[0]!r}")
    sys.exit(live(lambda root: _all_in(root, chosen)))

"""The forked child: its session, limits and files, and the programs that it runs one after the other.

Decision: a child streams a verdict for each program as soon as it has one, on a descriptor of its own, and
never returns into the server's code; whatever goes wrong here costs the program at hand and nothing else.
"""

from __future__ import annotations

import ctypes
import dataclasses
import faulthandler
import gc
import getpass
import importlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
from typing import Any, List, Sequence, Tuple

from shrinkrepro.protocol import LOST, Execution, Job, to_wire
from shrinkrepro.target import setting as settings
from shrinkrepro.target.candidate import run_program
from shrinkrepro.target.confine import confine, written
from shrinkrepro.target.leaks import Baseline
from shrinkrepro.target.setting import Setting

FILE_BYTES = 512 << 20  # of any file that a program writes, so that a flood of output ends by itself
MIRRORED_ENTRIES = 2000  # of a working folder, where there are no overlays
TAIL_BYTES = 16_384  # of standard output and error each that go into an execution
HANG_SIGNAL = signal.SIGUSR2  # makes faulthandler write where the program stands

MEMORY_SHARE = 0.8  # of what is available now, for a program that asks for too much to fail and not the machine

# Their drivers reserve more address space than there is memory, so a limit on it cannot be used beside them.
_ACCELERATORS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/accel")

HEADERS = "headers"  # name of the shared folder for them

PR_SET_PDEATHSIG = 1
HARNESS_FAILED = 87  # exit code of a child that could not tell its verdict

_write, _dumps, _exit = os.write, json.dumps, os._exit  # programs patch modules


def become_child(folder: str, setting: Setting, parent: int) -> Setting:
    """Leave the server's session, take the limits and the confinement; return the setting as it is seen from there."""
    os.setsid()
    die_with_parent(parent)
    limit(setting)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.makedirs(folder, exist_ok=True)
    return confined(folder, setting)


def confined(folder: str, setting: Setting) -> Setting:
    """Confine this process; where the working folder is not under an overlay, show its mirror instead."""
    temporary = tempfile.gettempdir()
    shown = [setting.cwd, setting.script_folder, temporary, os.path.expanduser("~")]
    overlays = confine(folder, [p for p in shown if os.path.isdir(p)], setting.shared, _headers(setting, temporary))
    if not is_below(temporary, overlays):
        tempfile.tempdir = os.environ["TMPDIR"] = os.path.join(folder, "tmp")
        os.mkdir(tempfile.tempdir)
    if is_below(setting.cwd, overlays):
        return setting
    return dataclasses.replace(setting, cwd=_mirror(setting.cwd, os.path.join(folder, "cwd")))


def _headers(setting: Setting, temporary: str) -> List[Tuple[str, str]]:
    """Where inductor's precompiled headers are kept and seen: they take many seconds, and no variable moves them."""
    seen = os.path.realpath(os.path.join(temporary, "torchinductor_" + _user(), "precompiled_headers"))
    kept = [path for path in setting.shared if os.path.basename(path) == HEADERS]
    return [] if os.path.isdir(seen) else [(path, seen) for path in kept]


def _user() -> str:
    try:
        return re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    except (KeyError, OSError):
        return str(os.getuid())


def is_below(path: str, folders: Sequence[str]) -> bool:
    """Whether ``path`` is in one of ``folders``."""
    real = os.path.realpath(path) + os.sep
    return any(real.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def _mirror(folder: str, place: str) -> str:
    """A folder with links to what is in ``folder``; ``folder`` itself when that would be too many."""
    entries = os.listdir(folder)
    if len(entries) > MIRRORED_ENTRIES:
        return folder
    os.mkdir(place)
    for entry in entries:
        os.symlink(os.path.join(folder, entry), os.path.join(place, entry))
    return place


def limit(setting: Setting) -> None:
    """Limits on files, core dumps and memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    memory = setting.memory or int(MEMORY_SHARE * _available_memory())
    if memory and not any(os.path.exists(device) for device in _ACCELERATORS):
        most = _address_space() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def open_streams(folder: str) -> int:
    """New, empty files for standard output and error and for faulthandler, whose descriptor is returned."""
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    for name, descriptor in (("out", 1), ("err", 2)):
        opened = os.open(os.path.join(folder, name), flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    return os.open(os.path.join(folder, "fault"), flags, 0o600)


def watch_faults(descriptor: int) -> None:
    """Let a crash, or the server's wish, write the Python frames to ``descriptor``."""
    faulthandler.enable(file=descriptor, all_threads=False)
    faulthandler.register(HANG_SIGNAL, file=descriptor, all_threads=False)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def tail(path: str) -> str:
    """The end of a file as text."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def remove(folder: str) -> None:
    """Remove a folder, also when a program took away the right to."""

    def open_up(function: Any, path: str, info: Any) -> None:
        try:
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700)
            function(path)
        except OSError:
            return

    if sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=open_up)
    else:
        shutil.rmtree(folder, onerror=open_up)


def send(descriptor: int, message: Any) -> None:
    """Write one message as a line of JSON."""
    data = _dumps(message).encode() + b"\n"
    while data:
        data = data[_write(descriptor, data) :]


def run_batch(
    jobs: Sequence[Tuple[int, Job]],
    setting: Setting,
    folder: str,
    reply: int,
    baseline: Baseline,
) -> None:
    """Run the jobs one after the other, until the process is no longer as good as new."""
    own, modules = os.getpid(), baseline.modules
    single = ""  # why a program could not follow another here

    def preloaded(drew: bool) -> None:
        nonlocal baseline, single
        baseline, single = Baseline(), "the preloaded file's random numbers" if drew else ""

    for number, (index, job) in enumerate(jobs):
        fault = open_streams(folder)
        watch_faults(fault)
        send(reply, {"begin": index})
        place = os.path.join(folder, "p%d" % number)
        try:
            execution = run_program(job, setting, place, preloaded)
        except BaseException as failure:  # not the program's: it could not even be started or told about
            execution = Execution(status=LOST, detail="%s: %s" % (type(failure).__name__, failure))
        if os.getpid() != own:  # the program forked, and this is its child that ran on to the end
            os._exit(0)
        out, err = tail(os.path.join(folder, "out")), tail(os.path.join(folder, "err"))
        send(reply, {"index": index, "execution": to_wire(dataclasses.replace(execution, stdout=out, stderr=err))})
        if number + 1 == len(jobs) or execution.status == LOST:
            break
        leak = _leak(baseline) or single or ("a written file" if written(folder) else "")
        if leak:
            send(reply, {"leak": leak})
            break
        os.close(fault)
        remove(place)
    learned = sorted(name for name in set(sys.modules) - modules if baseline.is_library(name))
    if learned:
        send(reply, {"learned": learned})


def _leak(baseline: Baseline) -> str:
    """Put the process back into its first state; return what cannot be put back."""
    sys.modules.pop("__main__", None)
    gc.collect()
    try:
        if tempfile.tempdir is not None:
            baseline.environment["TMPDIR"] = os.environ.get("TMPDIR", tempfile.tempdir)
        baseline.restore()
        return baseline.leak()
    except Exception as error:  # a program can break whatever the check uses
        return "a check failed: %s" % error


def run_once(request: int, reply: int) -> None:
    """The child of ``--isolation spawn``: a new interpreter that runs the one job it is given."""
    with os.fdopen(request, "rb") as file:
        order = json.loads(file.read())
    setting = settings.from_wire(order["setting"])
    fault = open_streams(order["folder"])
    watch_faults(fault)
    try:
        importlib.import_module("torch").set_num_threads(1)
        baseline = Baseline()
        jobs: List[Tuple[int, Job]] = [(order["index"], Job(**order["job"]))]
        sys.path.insert(0, setting.sys_path0)
        run_batch(jobs, setting, order["folder"], reply, baseline)
    except BaseException:
        _exit(HARNESS_FAILED)
    _exit(0)


def run_plain(order_path: str) -> None:
    """Become a plain run of the target's interpreter, confined: only limits stay from what we are."""
    with open(order_path) as file:
        order = json.load(file)
    setting = settings.from_wire(order["setting"])
    die_with_parent(os.getppid())
    limit(setting)
    seen = confined(order["folder"], setting)
    os.chdir(seen.cwd)
    os.execv(sys.executable, [sys.executable, *order["command"]])


def _available_memory() -> int:
    """Bytes of memory that programs can still have; 0 where that is not known."""
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        return 0
    return 0


def _address_space() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 1 << 40

"""The forked child: its session, limits and files, and the programs that it runs one after the other.

Decision: a child streams a verdict for each program as soon as it has one, on a descriptor of its own, and
never returns into the server's code; whatever goes wrong here costs the program at hand and nothing else.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import gc
import getpass
import importlib
import itertools
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from typing import Any, List, Sequence, Tuple

from shrinkrepro.protocol import LOST, Execution, Job, to_wire
from shrinkrepro.target import audit, keeper, kernel, limits
from shrinkrepro.target import setting as settings
from shrinkrepro.target.candidate import run_program
from shrinkrepro.target.confine import confine, written
from shrinkrepro.target.leaks import Baseline
from shrinkrepro.target.mirror import mirror
from shrinkrepro.target.scratch import remove
from shrinkrepro.target.setting import Setting

TAIL_BYTES = 16_384  # of standard output and error each that go into an execution
HANG_SIGNAL = signal.SIGUSR2  # makes faulthandler write where the program stands

# Where libraries write without being asked, for where HOME can only be read. What they read stays where it is.
_CACHES = ("MPLCONFIGDIR", "NUMBA_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "CUDA_CACHE_PATH", "TRITON_HOME")

HEADERS = "headers"  # name of the shared folder for them

HARNESS_FAILED = 87  # exit code of a child that could not tell its verdict

_write, _dumps, _exit = os.write, json.dumps, os._exit  # programs patch modules


def become_child(folder: str, setting: Setting, parent: int, tasks: int, sources: Sequence[str]) -> Setting:
    """Leave the server's session, take the limits and the confinement; return the setting as it is seen from there.

    ``tasks`` of this user there are already; ``sources`` are the programs to come.
    """
    os.setsid()
    kernel.die_with_parent(parent)
    limits.limit(setting.memory or 0, tasks)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.makedirs(folder, exist_ok=True)
    return confined(folder, setting, sources)


def confined(folder: str, setting: Setting, sources: Sequence[str], hooked: bool = True) -> Setting:
    """Confine this process; where the working folder is not under an overlay, show its mirror instead.

    ``hooked``: whether an audit hook does what the kernel cannot; one would end with a program that is started.
    """
    if not setting.sandbox:
        return setting
    shown = [setting.cwd, setting.script_folder, setting.temporary, os.path.expanduser("~")]
    writable = [*setting.shared, *setting.allow_write]
    network = setting.network or "network" in setting.namespaces
    overlays = confine(
        folder,
        [path for path in shown if os.path.isdir(path)],
        writable,
        setting.scratch,
        bound=_headers(setting),
        network=network,
        bare="mount" not in setting.namespaces,
    )
    tempfile.tempdir = setting.temporary
    if not is_below(setting.temporary, overlays):
        tempfile.tempdir = os.environ["TMPDIR"] = os.path.join(folder, "tmp")
        os.mkdir(tempfile.tempdir)
    if not is_below(os.path.expanduser("~"), overlays):
        os.environ.update({name: os.path.join(folder, "cache") for name in _CACHES})
    if hooked and not audit.can_be_spared():
        audit.install([folder, *writable], network)
    if is_below(setting.cwd, [*overlays, *setting.allow_write]):
        return setting
    return dataclasses.replace(setting, cwd=mirror(setting.cwd, os.path.join(folder, "cwd"), sources))


def _headers(setting: Setting) -> List[Tuple[str, str]]:
    """Where inductor's precompiled headers are kept and seen: they take many seconds, and no variable moves them."""
    seen = os.path.realpath(os.path.join(setting.temporary, "torchinductor_" + _user(), "precompiled_headers"))
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


def tail(path: str) -> str:
    """The end of a file as text."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


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
    baseline.environment = dict(os.environ)  # with what the confinement put in
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
    # The newest stand last. To look at each would copy the pages of thousands of names from the server.
    new = list(itertools.takewhile(lambda name: name not in modules, reversed(sys.modules)))
    learned = sorted(name for name in new if baseline.is_library(name))
    if learned:
        send(reply, {"learned": learned})


def _leak(baseline: Baseline) -> str:
    """Put the process back into its first state; return what cannot be put back."""
    sys.modules.pop("__main__", None)
    gc.collect()
    try:
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
    kernel.die_with_parent(os.getppid())
    setting = settings.from_wire(order["setting"])
    memory = limits.memory_of(setting)
    setting = keeper.enter_for_program(setting, memory)
    limits.limit(memory + limits.LIBRARIES if memory else 0, limits.user_tasks())
    # Its own file system is in place only now; the host wrote the program beside it.
    shutil.copytree(order["program"], os.path.join(setting.scratch, "program"), symlinks=True)
    with open(os.path.join(setting.scratch, "program", setting.script_name), encoding="utf-8") as file:
        source = file.read()
    seen = confined(setting.scratch, setting, [source], hooked=False)
    os.chdir(seen.cwd)
    command = [sys.executable, *order["command"]]
    spared = not setting.sandbox or audit.can_be_spared()
    os.execv(sys.executable, command if spared else audit.command(command, setting))

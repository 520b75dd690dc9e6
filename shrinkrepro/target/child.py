"""The forked child: its session, limits and files, and the programs that it runs one after the other.

Decision: a child streams a verdict for each program as soon as it has one, on a descriptor of its own, and
never returns into the server's code; whatever goes wrong here costs the program at hand and nothing else.
"""

from __future__ import annotations

import ctypes
import dataclasses
import faulthandler
import gc
import json
import os
import resource
import shutil
import signal
import sys
from typing import Any, List, Optional, Sequence, Tuple

from shrinkrepro.protocol import LOST, Execution, Job, to_wire
from shrinkrepro.target import setting as settings
from shrinkrepro.target.candidate import run_program
from shrinkrepro.target.leaks import Baseline
from shrinkrepro.target.setting import Setting

FILE_BYTES = 128 << 20  # of any file that a program writes, so that a flood of output ends by itself
TAIL_BYTES = 16_384  # of standard output and error each that go into an execution
HANG_SIGNAL = signal.SIGUSR2  # makes faulthandler write where the program stands

PR_SET_PDEATHSIG = 1


def become_child(folder: str, setting: Setting) -> None:
    """Leave the server's session, take the limits, and point the standard streams at files in ``folder``."""
    parent = os.getppid()
    os.setsid()
    die_with_parent(parent)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    if setting.memory and not setting.device:
        limit = _address_space() + setting.memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.makedirs(folder, exist_ok=True)


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


def send(descriptor: int, message: Any) -> None:
    """Write one message as a line of JSON."""
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def run_batch(
    jobs: Sequence[Tuple[int, Job]],
    setting: Setting,
    folder: str,
    reply: int,
    baseline: Baseline,
    torch_seed: int,
) -> None:
    """Run the jobs one after the other, until the process is no longer as good as new."""
    own = os.getpid()
    for number, (index, job) in enumerate(jobs):
        fault = open_streams(folder)
        watch_faults(fault)
        send(reply, {"begin": index})
        place = os.path.join(folder, "p%d" % number)
        try:
            execution = run_program(job, setting, place, torch_seed)
        except BaseException as failure:  # not the program's: it could not even be started or told about
            execution = Execution(status=LOST, detail="%s: %s" % (type(failure).__name__, failure))
        if os.getpid() != own:  # the program forked, and this is its child that ran on to the end
            os._exit(0)
        out, err = tail(os.path.join(folder, "out")), tail(os.path.join(folder, "err"))
        send(reply, {"index": index, "execution": to_wire(dataclasses.replace(execution, stdout=out, stderr=err))})
        if number + 1 == len(jobs) or execution.status == LOST:
            break
        leak = _leak(baseline)
        if leak:
            send(reply, {"leak": leak})
            break
        os.close(fault)
        shutil.rmtree(place, ignore_errors=True)
    learned = sorted(name for name in set(sys.modules) - baseline.modules if baseline.is_library(name))
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
    torch: Optional[Any] = None
    try:
        import torch  # type: ignore[no-redef]

        torch.set_num_threads(1)  # type: ignore[union-attr]
        baseline = Baseline()
        jobs: List[Tuple[int, Job]] = [(order["index"], Job(**order["job"]))]
        sys.path.insert(0, setting.sys_path0)
        run_batch(jobs, setting, order["folder"], reply, baseline, torch.initial_seed())  # type: ignore[union-attr]
    finally:
        os._exit(0)


def _address_space() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 1 << 40

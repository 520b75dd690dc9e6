"""The fork server: imports, never computes, and forks a child for each batch of programs.

Decision: one process that serves one request at a time, over two descriptors of its own; it has a single
thread when it begins to serve, because a child of a process with an OpenMP pool hangs at its first parallel
operation.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import glob
import importlib
import json
import linecache
import os
import re
import signal
import sys
import time
import warnings
from typing import Any, Dict, List, Sequence, Tuple

from shrinkrepro.protocol import RUN, SIGNAL, TIMEOUT, Job, to_wire
from shrinkrepro.target import keeper, kernel, limits
from shrinkrepro.target import setting as settings
from shrinkrepro.target.attend import HostGone, attend, lost
from shrinkrepro.target.child import HARNESS_FAILED, become_child, run_batch, send
from shrinkrepro.target.exchange import index_globals
from shrinkrepro.target.fingerprint import fingerprint
from shrinkrepro.target.leaks import Baseline, thread_count
from shrinkrepro.target.level import probe
from shrinkrepro.target.processes import Watch, reap_orphans
from shrinkrepro.target.scratch import remove
from shrinkrepro.target.setting import Setting

_STAND_INS = tuple("shrinkrepro.target." + name for name in ("reference", "primal", "eager", "observe"))
# Imported lazily by the first transform of a process; without them each child would pay 1.5 to 4 s.
PRELOADS = ("torch.func", "torch._dynamo", "torch._decomp.decompositions_for_jvp", "numpy.random")

# What a program with one of these does can outlive its namespace in ways that no check sees.
_PROCESS_STATE = re.compile(
    r"(?<!re\.)\bcompile\b|_dynamo|_inductor|torch\.library|custom_op|triton_op|\bregister_|\bexport\b|\bjit\b"
    r"|multiprocessing|subprocess|threading|\bfork\b|\bctypes\b|set_num_threads|get_context|while_loop|\bscan\b"
    r"|\bcond\b|flex_attention"
)

ATTEMPTS = 2  # children that may end before they begin a program


def serve(request: int, reply: int) -> None:
    """Import, report, then run the requests that come as lines of JSON until there are no more."""
    os.set_inheritable(request, False)
    os.set_inheritable(reply, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host decides what Ctrl-C means
    requests = os.fdopen(request, "rb")
    order = json.loads(requests.readline())
    setting = settings.from_wire(order["setting"])
    setting = dataclasses.replace(setting, memory=limits.memory_of(setting) or None)
    setting = keeper.enter(setting, [request, reply], lambda pid: send(reply, {"server": pid}))
    if sys.platform == "linux":
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    report = _import_all(order["modules"], bool(order["spawn"]))
    if "error" in report:
        send(reply, report)
        return
    report["confinement"] = probe(setting)
    server = Server(setting, request, reply, bool(order["spawn"]))
    gc.collect()
    gc.freeze()
    send(reply, report)
    try:
        for line in requests:
            order = json.loads(line)
            if "learn" in order:
                send(reply, server.learn(order["learn"]))
                continue
            jobs = [Job(**job) for job in order["jobs"]]
            server.run(jobs)
            send(reply, {"end": len(jobs)})
    except (HostGone, BrokenPipeError):
        pass
    # A host that closes us kills us; it ended without, so what it would have removed is left to the keeper.
    reap_orphans()
    os._exit(keeper.HOST_GONE)


def _import_all(modules: Sequence[str], spawn: bool) -> Dict[str, Any]:
    """Import what programs will need; what starts a thread or fails is named, not fatal."""
    show = warnings.showwarning
    warnings.showwarning = lambda *args, **kwargs: None
    try:
        import torch
    except ImportError as error:
        return {"error": "no-torch", "detail": "%s: %s" % (type(error).__name__, error)}
    by_torch = sorted(sys.modules)
    torch.set_num_threads(1)
    threaded = [] if spawn else _load([*PRELOADS, *_STAND_INS, *modules])
    warnings.showwarning = show
    for name in ("torch._functorch.vmap", "torch._functorch.eager_transforms"):  # what tracebacks quote
        linecache.getlines(getattr(sys.modules.get(name), "__file__", None) or "")
    if thread_count() > 1 and not spawn:
        return {"error": "threads", "threaded": threaded, "detail": "%d threads after the imports" % thread_count()}
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "torch": str(torch.__version__),
        "torch_modules": by_torch,
        "modules": sorted(sys.modules),
        "fingerprint": fingerprint(by_torch),
    }


def _load(modules: Sequence[str]) -> List[str]:
    """Import ``modules``; return those that started a thread. What cannot be imported is for the program to meet."""
    threaded: List[str] = []
    for name in modules:
        before = thread_count()
        try:
            importlib.import_module(name)
        except Exception:
            continue
        if thread_count() > before:
            threaded.append(name)
    return threaded


class Server:
    """Runs requests: forks, attends, cleans up."""

    def __init__(self, setting: Setting, request: int, reply: int, spawn: bool) -> None:
        self.setting = setting
        self.request = request
        self.reply = reply
        self.spawn = spawn
        self.children = 0
        self.started = 0.0  # when the last child began, by the clock of file times
        self.pid = os.getpid()
        self.tasks = limits.user_tasks()
        sys.path.insert(0, setting.sys_path0)
        self.baseline = Baseline()
        index_globals()

    def learn(self, modules: Sequence[str]) -> Dict[str, Any]:
        """Import what programs turned out to import, so that the next children have it."""
        show = warnings.showwarning
        warnings.showwarning = lambda *args, **kwargs: None
        threaded = _load(modules)
        warnings.showwarning = show
        self.baseline = Baseline()
        index_globals()
        gc.collect()
        gc.freeze()
        return {"threaded": threaded, "modules": sorted(sys.modules)}

    def run(self, jobs: Sequence[Job]) -> None:
        """Run all jobs of a request and send a verdict for each."""
        alone: List[Tuple[int, Job]] = []
        batch: List[Tuple[int, Job]] = []
        for index, job in enumerate(jobs):
            single = self.spawn or job.alone or job.mode != RUN or _PROCESS_STATE.search(job.source)
            (alone if single else batch).append((index, job))
        self._run_group(batch)
        for item in alone:
            self._run_group([item])

    def _run_group(self, jobs: List[Tuple[int, Job]]) -> None:
        """Run jobs in one child after another, each taking over where the last one had to stop."""
        failed = 0
        while jobs:
            done = self._run_child(jobs)
            failed = 0 if done else failed + 1
            if failed == ATTEMPTS:
                send(self.reply, {"index": jobs[0][0], "execution": to_wire(lost("no child could begin it"))})
                done, failed = {jobs[0][0]}, 0
            jobs = [item for item in jobs if item[0] not in done]

    def _run_child(self, jobs: List[Tuple[int, Job]]) -> Any:
        self.children += 1
        self.started = time.time()
        folder = os.path.join(self.setting.scratch, "c%d" % self.children)
        readable, writable = os.pipe()
        pid = os.fork()
        if pid == 0:
            leave = os._exit
            try:
                os.close(readable)
                self._in_child(jobs, folder, writable)
            except BaseException:
                leave(HARNESS_FAILED)
            leave(0)
        os.close(writable)
        if "PID" not in self.setting.namespaces:  # else it means nothing to the host, and ends with us
            send(self.reply, {"child": pid})
        try:
            done = attend(pid, readable, self.request, jobs, folder, self._forward, self._watch())
        finally:
            os.close(readable)
        reap_orphans()
        remove(folder)
        return done

    def _watch(self) -> Watch:
        own = [] if "mount" in self.setting.namespaces else [self.setting.scratch]
        return Watch(self.setting.memory or 0, [*self.setting.shared, *own])

    def _in_child(self, jobs: List[Tuple[int, Job]], folder: str, writable: int) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        setting = become_child(folder, self.setting, self.pid, self.tasks, [job.source for _, job in jobs])
        os.close(self.request)
        os.close(self.reply)
        if not self.spawn:
            run_batch(jobs, setting, folder, writable, self.baseline)
            return
        index, job = jobs[0]
        order = {
            "setting": dataclasses.asdict(setting),
            "job": dataclasses.asdict(job),
            "index": index,
            "folder": folder,
        }
        path = os.path.join(folder, "order")
        with open(path, "w") as file:
            json.dump(order, file)
        request = os.open(path, os.O_RDONLY)
        os.set_inheritable(request, True)
        os.set_inheritable(writable, True)
        launch = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.py")
        os.execv(sys.executable, [sys.executable, launch, "once", str(request), str(writable)])

    def _forward(self, message: Dict[str, Any]) -> None:
        if message.get("execution", {}).get("status") in (TIMEOUT, SIGNAL):
            self._drop_half_written()
        send(self.reply, message)

    def _drop_half_written(self) -> None:
        """Remove what a program that was killed may have left unfinished where later ones would read it."""
        for folder in self.setting.shared:
            for path in glob.glob(os.path.join(glob.escape(folder), "**", "*.gch"), recursive=True):
                with contextlib.suppress(OSError):
                    if os.path.getmtime(path) >= self.started:
                        os.remove(path)

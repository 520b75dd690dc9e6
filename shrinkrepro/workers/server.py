"""One fork server as the host sees it: a process, two pipes, and what it said at its start.

Decision: the host trusts the server's clock first and its own only as a backstop; a server that dies or
falls silent is killed with its child, and the caller starts another.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shrinkrepro.errors import TargetError
from shrinkrepro.protocol import Execution, Job, from_wire
from shrinkrepro.workers.target import Target, header_cache, no_torch

START_SECONDS = 300.0  # imports on a loaded machine with a cold disk
KEEPER_SECONDS = 30.0  # for it to end everything inside
GRACE_SECONDS = 45.0  # beyond a job's own time-out; covers a child's start

LAUNCH = Path(__file__).resolve().parent.parent / "target" / "launch.py"
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class ServerDied(Exception):
    """The server is gone. ``suspect`` is the index of the job that was running, if any."""

    def __init__(self, detail: str, suspect: int | None = None) -> None:
        super().__init__(detail)
        self.suspect = suspect


class ThreadsStarted(Exception):
    """Importing ``modules`` starts threads, so they cannot be preloaded."""

    def __init__(self, modules: Sequence[str], detail: str) -> None:
        super().__init__(detail)
        self.modules = tuple(modules)


class Server:
    """A running server. Not for use by two threads at once."""

    def __init__(
        self, target: Target, scratch: Path, modules: Sequence[str], spawn: bool = False, jobs: int = 1
    ) -> None:
        self.scratch = scratch
        self.learned: set[str] = set()
        self.leaks: list[str] = []  # why batches had to go on in new children
        self._server: int | None = None  # behind the process that we started, which keeps it
        self._child: int | None = None
        self._buffer = b""
        scratch.mkdir(parents=True, exist_ok=True)
        target.check()
        request_read, self._request = os.pipe()
        self._reply, reply_write = os.pipe()
        cache = scratch.parent / "cache"  # one for all servers: compiling the same again would take seconds
        cache.mkdir(exist_ok=True)
        env = target.environment() | _ONE_THREAD | cache_variables(cache)
        log = os.open(scratch / "server.log", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            self._process = subprocess.Popen(
                [target.python, str(LAUNCH), "serve", str(request_read), str(reply_write)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=scratch,
                env=env,
                pass_fds=(request_read, reply_write),
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._request)
            os.close(self._reply)
            raise TargetError(f"cannot run {target.python}: {error.strerror}", "name a Python with --python") from error
        finally:
            os.close(request_read)
            os.close(reply_write)
            os.close(log)
        setting = setting_of(target, scratch, [cache, header_cache()], jobs)
        self._send({"setting": setting, "modules": list(modules), "spawn": spawn})
        self._target = target
        self.report: dict[str, Any] = {}

    def wait_ready(self) -> dict[str, Any]:
        """Wait for the imports to be done; return the server's report.

        Raises:
            TargetError: no torch, or the interpreter cannot run the server.
            ThreadsStarted: a preloaded module starts threads.
        """
        try:
            self._server = self._receive(START_SECONDS)["server"]
            self.report = self._receive(START_SECONDS)
        except ServerDied as death:
            raise TargetError(
                f"{self._target.python} cannot run programs: {self._log_end() or death}",
                "it must be Python 3.9 or later with torch 2.0 or later",
            ) from death
        error = self.report.get("error")
        if error is None:
            return self.report
        self.close()
        if error == "threads":
            raise ThreadsStarted(self.report["threaded"], self.report["detail"])
        raise no_torch(self._target.python, self.report["detail"])

    def learn(self, modules: Sequence[str]) -> None:
        """Tell the server to import ``modules``; ``wait_learned`` says when it has."""
        self._send({"learn": list(modules)})

    def wait_learned(self) -> None:
        """Wait until the modules of ``learn`` are imported.

        Raises:
            ServerDied: it did not live through it.
            ThreadsStarted: one of them starts threads; the server can no longer be forked.
        """
        answer = self._receive(START_SECONDS)
        if answer["threaded"]:
            raise ThreadsStarted(answer["threaded"], "after the imports")
        self.report["modules"] = answer["modules"]
        self.learned.clear()

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Execution]]:
        """Run ``jobs``; yields (index, execution) as they come.

        Raises:
            ServerDied: with some jobs still without a verdict.
        """
        self._send({"jobs": [dataclasses.asdict(job) for job in jobs]})
        current: int | None = None
        limit = GRACE_SECONDS
        while True:
            try:
                message = self._receive(limit)
            except ServerDied as death:
                death.suspect = current
                raise
            if "begin" in message:
                current = message["begin"]
                limit = jobs[message["begin"]].timeout + GRACE_SECONDS
            elif "execution" in message:
                current, limit = None, GRACE_SECONDS
                yield message["index"], from_wire(message["execution"])
            elif "child" in message:
                self._child = message["child"]
            elif "learned" in message:
                self.learned.update(message["learned"])
            elif "leak" in message:
                self.leaks.append(message["leak"])
            elif "end" in message:
                self._child = None
                return

    def close(self) -> None:
        """Kill the server and its child; safe to call twice."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._server is not None and self._process.poll() is None:
                os.kill(self._server, signal.SIGKILL)  # its keeper ends the rest, and then itself
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(KEEPER_SECONDS)
        for pid in (self._process.pid if self._process.returncode is None else None, self._child):
            if pid is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
        self._server = self._child = None
        self._process.wait()
        for descriptor in (self._request, self._reply):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._request = self._reply = -1

    def _send(self, message: Any) -> None:
        data = json.dumps(message).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._request, data) :]
        except OSError as error:
            raise ServerDied(f"the server is gone ({error.strerror})") from error

    def _receive(self, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._reply], [], [], left)[0]:
                raise ServerDied("the server fell silent")
            data = os.read(self._reply, 1 << 20)
            if not data:
                raise ServerDied("the server died")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def _log_end(self) -> str:
        text = (self.scratch / "server.log").read_text(errors="replace").strip()
        return text.splitlines()[-1] if text else ""


def cache_variables(cache: Path) -> dict[str, str]:
    """Environment that puts compilers' caches into ``cache``, where programs may write."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }


def setting_of(target: Target, scratch: Path, shared: Sequence[Path] = (), jobs: int = 1) -> dict[str, Any]:
    """The target's part of the surroundings, as ``shrinkrepro.target.setting`` reads it; ``jobs`` run at a time."""
    return {
        "script_name": target.script_path.name,
        "script_folder": str(target.script_path.parent),
        "cwd": str(target.cwd),
        "sys_path0": str(target.first_path),
        "scratch": str(scratch),
        "temporary": tempfile.gettempdir(),
        "args": list(target.args),
        "package": target.package,
        "seed": target.seed,
        "device": target.device,
        "preload": None if target.preload is None else str(target.preload),
        "memory": target.memory,
        "jobs": jobs,
        "sandbox": target.sandbox,
        "network": target.network,
        "allow_write": [str(path) for path in target.allow_write],
        "shared": [str(path) for path in shared],
    }

"""The local executor: workers that are processes of this machine, each an interpreter of its own.

Decision: processes, not threads, so that the search of one script never waits for that of another. A worker gets its
next script only when it has ended the last, so the order of the queue is the order in which scripts begin.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shrinkrepro.workers.executor import ACCEPTED, ENDS, LOST, NOTE, TRIES, Event, Work

STOP_SECONDS = 20.0  # for a worker to stop its servers and remove their files, on a busy machine
_START = "import sys; sys.path[:] = {path!r}; from shrinkrepro.workers.local_process import main; main()"


class LocalExecutor:
    """``slots`` worker processes, each started when there is a script for it. ``worker``: ``package.module:name``."""

    def __init__(self, worker: str, slots: int) -> None:
        self.slots = slots
        self._worker = worker
        self._queue: deque[Work] = deque()
        self._processes: list[_Process] = []
        self._tries: Counter[str] = Counter()

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.ask_to_stop()
        for process in self._processes:
            process.stop()
        self._processes.clear()

    def submit(self, work: Work) -> None:
        """Queue a work."""
        self._queue.append(work)

    def events(self) -> Iterator[Event]:
        """What is told, until all works have ended."""
        while True:
            self._hand_out()
            busy = {process.reply: process for process in self._processes if process.work is not None}
            if not busy:
                return
            for descriptor in select.select(list(busy), [], [])[0]:
                yield from self._heard(busy[descriptor])

    def _hand_out(self) -> None:
        while self._queue:
            idle = next((process for process in self._processes if process.work is None), None)
            if idle is None:
                if len(self._processes) >= self.slots:
                    return
                idle = _Process(self._worker)
                self._processes.append(idle)
            work = self._queue.popleft()
            if not idle.give(work):
                self._queue.appendleft(work)  # it died as it had nothing to do: no fault of the work
                self._processes.remove(idle)
                idle.stop()

    def _heard(self, process: _Process) -> Iterator[Event]:
        alive, messages = process.read()
        for message in messages:
            event = Event.from_wire(message)
            if event.kind == ACCEPTED:
                process.accepted = str(event.data["text"])
            if event.kind in ENDS:
                process.work, process.accepted = None, ""
            yield event
        if not alive:
            self._processes.remove(process)
            work, accepted = process.work, process.accepted
            reason = process.stop()
            if work is not None:
                yield self._after_death(work, accepted, reason)

    def _after_death(self, work: Work, accepted: str, reason: str) -> Event:
        self._tries[work.name] += 1
        if self._tries[work.name] >= TRIES:
            hint = f"reduce it alone to see more: shrinkrepro reduce {work.script}"
            return Event(work.name, LOST, {"message": f"{TRIES} workers died of it ({reason})", "hint": hint})
        self._queue.appendleft(replace(work, start=accepted or work.start))
        return Event(work.name, NOTE, {"text": f"{work.name}: its worker died ({reason}); it goes on in another"})


class _Process:
    """One worker process, and the work that it has."""

    def __init__(self, worker: str) -> None:
        self.work: Work | None = None
        self.accepted = ""  # the last program of this work
        self._buffer = b""
        request_read, self._request = os.pipe()
        self.reply, reply_write = os.pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        path = [os.path.abspath(entry) for entry in sys.path]  # ours, whatever stands in the current folder
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START.format(path=path), worker, str(request_read), str(reply_write)],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(request_read, reply_write),
                start_new_session=True,  # Ctrl-C is for the one that hands out the work
            )
        finally:
            os.close(request_read)
            os.close(reply_write)

    def give(self, work: Work) -> bool:
        """Send ``work``; False when the process is gone."""
        data = json.dumps(work.to_wire()).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._request, data) :]
        except OSError:
            return False
        self.work, self.accepted = work, ""
        return True

    def read(self) -> tuple[bool, list[dict[str, Any]]]:
        """Whether it lives, and what it said; for when ``reply`` is ready."""
        data = os.read(self.reply, 1 << 20)
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return bool(data), [json.loads(line) for line in lines]

    def ask_to_stop(self) -> None:
        """Tell it that it is no longer needed; it stops its servers."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def stop(self) -> str:
        """Wait for its end, kill it where that is late; how it ended, in words."""
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for descriptor in (self._request, self.reply):
            os.close(descriptor)
        code = self._process.returncode
        self._log.seek(0)
        said = self._log.read().decode("utf-8", "replace").strip().splitlines()
        self._log.close()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{how}: {said[-1]}" if said and code > 0 else how

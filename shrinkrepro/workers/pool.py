"""The pool: runs jobs on one or more fork servers and gives the executions back in order.

Decision: how jobs are spread over servers and batches changes only the time: each job's verdict comes from
a process that is as good as new, and a job whose server died is run again by itself before it is given up.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from shrinkrepro.core.tracebacks import parse_tracebacks
from shrinkrepro.errors import TargetError
from shrinkrepro.protocol import EXCEPTION, EXIT, LOST, TIMEOUT, Execution, Job, from_wire
from shrinkrepro.workers import scratch as scratches
from shrinkrepro.workers.memory import Memory, Ticket
from shrinkrepro.workers.server import Server, ServerDied, ThreadsStarted
from shrinkrepro.workers.target import Target

ALONE_SHARES = 4  # a server's part of jobs that each fork: small groups, for a slow one holds up its group
BATCH_JOBS = 50  # more in one child gain nothing (1.3 ms a job), and a leak costs more
TRIES = 2  # of a job whose server died, the second by itself


@dataclass(frozen=True)
class TargetInfo:
    """What the target is, as its servers told."""

    python: str
    torch: str
    torch_modules: frozenset[str]  # loaded by ``import torch`` alone
    modules: frozenset[str]  # loaded in the servers
    fingerprint: str = ""  # of the build: ``target.fingerprint``
    confinement: str = ""  # what holds programs back, in words


@dataclass
class _Task:
    index: int
    job: Job
    deaths: int = 0
    ticket: Ticket | None = None  # of the memory, where its execution is kept


class Pool:
    """Fork servers for one target; a context manager. ``run`` may be called by one thread at a time.

    ``scratch``: the folder for the servers' files; a private one is made and removed when it is None.
    ``memory`` answers jobs that were run before; they are not run again.
    """

    spawn = False  # whether each job gets an interpreter of its own (``SpawnPool``)

    def __init__(
        self, target: Target, jobs: int = 1, scratch: Path | None = None, memory: Memory | None = None
    ) -> None:
        self.target = target
        self.memory = memory
        self.recalled = 0  # executions that the memory had
        self.jobs = max(1, jobs)
        self.refused: tuple[str, ...] = ()  # modules that cannot be preloaded, because they start threads
        self._own_scratch = scratch is None
        self.scratch = scratches.make_scratch() if scratch is None else scratch
        self._servers: list[Server | None] = [None] * self.jobs
        self._started = 0
        self._learned: set[str] = set()
        self._info: TargetInfo | None = None
        self._closed = False

    def __enter__(self) -> Pool:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def info(self) -> TargetInfo:
        """Versions and loaded modules of the target."""
        if self._info is None:
            self.start()
        assert self._info is not None
        return self._info

    @property
    def learned(self) -> frozenset[str]:
        """Library modules that programs imported and that the servers had not: worth a ``restart`` with them."""
        found = set(self._learned)
        for server in self._servers:
            if server is not None:
                found |= server.learned
        return frozenset(found - set(self.refused))

    def start(self) -> None:
        """Start the servers that are not running, all at once.

        Raises:
            TargetError: the target has no torch, or cannot run at all.
        """
        while True:
            for slot, server in enumerate(self._servers):
                if server is None:
                    self._servers[slot] = self._launch()
            try:
                reports = [server.wait_ready() for server in self._servers if server is not None and not server.report]
            except ThreadsStarted as threads:
                self._drop_servers()
                if not threads.modules:
                    raise TargetError(
                        f"importing torch starts threads in {self.target.python} ({threads})",
                        "use --isolation spawn",
                    ) from threads
                self.refused = (*self.refused, *threads.modules)
                continue
            for report in reports:
                self._take_report(report)
            return

    def _take_report(self, report: dict[str, Any]) -> None:
        self._info = TargetInfo(
            report["python"],
            report["torch"],
            frozenset(report["torch_modules"]),
            frozenset(report["modules"]),
            report["fingerprint"],
            report["confinement"],
        )

    def restart(self, modules: Sequence[str] | None = None) -> None:
        """Start new servers, which preload ``modules`` (None: what they preloaded before)."""
        if modules is not None:
            self.target = replace(self.target, modules=tuple(modules))
        self._drop_servers()
        self._learned.clear()
        self.start()

    def learn(self) -> bool:
        """Let the servers import what programs turned out to import; False when there was nothing to learn."""
        modules = self._remembered_lessons(sorted(self.learned))
        if not modules or self.spawn:
            return False
        self.teach(modules)
        return True

    def teach(self, modules: Sequence[str]) -> None:
        """Let the servers that run, and those to come, import ``modules``."""
        self.target = replace(self.target, modules=(*self.target.modules, *modules))
        running = [server for server in self._servers if server is not None]
        if not modules or not running:
            return
        try:
            for server in running:
                server.learn(modules)
            for server in running:
                server.wait_learned()
        except (ServerDied, ThreadsStarted) as failure:
            self.refused = (*self.refused, *(failure.modules if isinstance(failure, ThreadsStarted) else modules))
            self.restart()
            return
        self._learned.clear()
        self._take_report(running[0].report)

    def run(self, jobs: Sequence[Job]) -> list[Execution]:
        """Run all jobs; the executions come in the order of the jobs."""
        self.start()
        tasks = [_Task(index, job) for index, job in enumerate(jobs)]
        results: list[Execution | None] = [None] * len(tasks)
        tasks = [task for task in tasks if not self._recalled(task, results)]
        shares = self.jobs * (ALONE_SHARES if all(job.alone for job in jobs) else 1)
        size = min(BATCH_JOBS, -(-len(tasks) // shares)) or 1
        queue = deque(tasks[i : i + size] for i in range(0, len(tasks), size))
        failures: list[BaseException] = []

        def work(slot: int) -> None:
            try:
                while queue and not failures:
                    try:
                        group = queue.popleft()
                    except IndexError:
                        return
                    queue.extend(self._run_group(slot, group, results))
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(slot,)) for slot in range(min(self.jobs, len(queue)))]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException as interrupt:  # Ctrl-C: the programs that run now are given up
            failures.append(interrupt)
            self._drop_servers()
            for thread in threads:
                thread.join()
        if failures:
            self._drop_servers()  # they may have answers that nobody waits for
            raise failures[0]
        return [e if e is not None else Execution(status=LOST, detail="no verdict came back") for e in results]

    def close(self) -> None:
        """Stop the servers and remove their files."""
        self._closed = True
        self._drop_servers()
        if self._own_scratch:
            scratches.remove(self.scratch)

    def _run_group(self, slot: int, group: list[_Task], results: list[Execution | None]) -> list[list[_Task]]:
        """Run one group on one server; return groups that are still to be done."""
        server = self._servers[slot]
        if server is None:
            server = self._servers[slot] = self._launch()
            server.wait_ready()
        try:
            for index, execution in server.run([task.job for task in group]):
                execution = with_printed_chain(execution, self.target.script_path.name)
                results[group[index].index] = execution
                self._keep(group[index].ticket, execution)
        except ServerDied as death:
            self._discard(slot)
            return self._after_death(group, results, death)
        return []

    def _recalled(self, task: _Task, results: list[Execution | None]) -> bool:
        """Whether the memory has the execution of ``task``, which then is among ``results``."""
        if self.memory is None:
            return False
        job = task.job
        asked = [self.info.fingerprint, self.target.python, self.spawn, job.mode, job.alone, job.seed, job.source]
        task.ticket, answer = self.memory.recall(json.dumps(asked))
        if answer is None:
            return False
        execution = from_wire(answer)
        if execution.status == TIMEOUT and execution.seconds < job.timeout:
            return False  # it may end in the time that it has now
        results[task.index] = execution
        self.recalled += 1
        return True

    def _keep(self, ticket: Ticket | None, execution: Execution) -> None:
        if self.memory is not None and ticket is not None and execution.status != LOST:
            self.memory.keep(ticket, execution)

    def _remembered_lessons(self, found: list[str]) -> list[str]:
        """What was learned at this point: runs that are only remembered teach a new server nothing."""
        if self.memory is None:
            return found
        ticket, known = self.memory.recall(json.dumps([self.info.fingerprint, self.target.python, "learned"]))
        if known is None:
            self.memory.keep(ticket, found)
        return found if known is None else known

    def _after_death(self, group: list[_Task], results: list[Execution | None], death: ServerDied) -> list[list[_Task]]:
        left = [task for task in group if results[task.index] is None]
        suspect = group[death.suspect] if death.suspect is not None else (left[0] if left else None)
        again: list[list[_Task]] = []
        if suspect is not None and results[suspect.index] is None:
            suspect.deaths += 1
            left.remove(suspect)
            if suspect.deaths < TRIES:
                again.append([_Task(suspect.index, replace(suspect.job, alone=True), suspect.deaths, suspect.ticket)])
            else:
                results[suspect.index] = Execution(status=LOST, detail=str(death))
        return [left, *again] if left else again

    def _launch(self) -> Server:
        if self._closed:
            raise TargetError("the pool is closed")
        self._started += 1
        modules = [name for name in self.target.modules if name not in self.refused]
        return Server(self.target, self.scratch / f"server{self._started}", modules, self.spawn, self.jobs)

    def _discard(self, slot: int) -> None:
        server = self._servers[slot]
        if server is not None:
            self._learned |= server.learned
            server.close()
            scratches.remove(server.scratch)
        self._servers[slot] = None

    def _drop_servers(self) -> None:
        for slot in range(len(self._servers)):
            self._discard(slot)


def with_printed_chain(execution: Execution, script_name: str) -> Execution:
    """A program that printed a traceback and then left by an exit code failed by that exception."""
    if execution.status != EXIT:
        return execution
    for text in (execution.stderr, execution.stdout):
        chain = parse_tracebacks(text, script_name)
        if chain:
            return replace(execution, status=EXCEPTION, chain=chain)
    return execution


def default_jobs() -> int:
    """One server per core that this process may use."""
    affinity: Any = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1

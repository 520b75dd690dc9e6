"""The executor on a Ray cluster: an actor for each worker, placed by Ray.

Decision: Ray places and watches; what is lost we hand out again. Its own restarts would begin a script anew, and only
the driver knows what was last accepted. So no actor is restarted: another takes its place, wherever there is room.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from shrinkrepro.errors import TargetError
from shrinkrepro.workers.executor import ACCEPTED, ENDS, LOST, NOTE, TRIES, Event, Work
from shrinkrepro.workers.ray_actor import ScriptActor, describe
from shrinkrepro.workers.ray_cluster import connect, slots

START_SECONDS = 300.0  # until a worker has been placed and runs: imports on a cold node
PATIENCE = 60.0  # seconds without a worker, after which the user is told what is waited for
PULSE = 5.0  # seconds without news, after which the nodes are looked at: Ray tells nothing of one that went idle
_NODE = "ray.io/node-id"  # the label that Ray gives each node

Description = dict[str, str]  # of ``ray_actor.describe``, and where


@dataclass(eq=False)
class _Actor:
    """One actor, the work that it has, and what it waits for."""

    handle: Any
    waiting: Any  # Ray's reference: to the description at its start, to the next event later
    where: Description | None = None  # None: it has not started
    work: Work | None = None
    accepted: str = ""  # the last program of this work


class RayExecutor:
    """``slots`` workers on the cluster at ``address`` (None: RAY_ADDRESS, else a cluster on this machine alone).

    ``worker``: ``package.module:name``, which the nodes must be able to import. ``workers``: how many at most; None: as
    many as have room. ``cpus``, ``gpus`` (fractions too) and ``memory`` (bytes) are what Ray sets aside for each.
    ``python``: the target interpreter; a node without it, or whose torch is another than this machine's (where this one
    has none: than the first node's), is named in a note and not used.
    """

    def __init__(
        self,
        worker: str,
        *,
        address: str | None = None,
        workers: int | None = None,
        cpus: float = 1.0,
        gpus: float = 0.0,
        memory: int | None = None,
        python: str | None = None,
    ) -> None:
        self.slots = workers or 1
        self._worker = worker
        self._address = address
        self._workers = workers
        self._needs = {"CPU": cpus, "GPU": gpus, "memory": float(memory or 0)}
        self._python = python
        self._ray: Any = None
        self._reference: Description | None = None
        self._queue: deque[Work] = deque()
        self._actors: list[_Actor] = []
        self._refused: dict[str, str] = {}  # nodes that cannot be used, and why
        self._notes: deque[Event] = deque()
        self._tries: Counter[str] = Counter()

    def __enter__(self) -> RayExecutor:
        """Connect, and wait for the first worker.

        Raises:
            UsageError: Ray is not installed, or nothing of it answers at the address.
            TargetError: no node has room for a worker, or none has the target.
        """
        own = describe(self._python)
        self._reference = None if own["fault"] else own
        self._ray = connect(self._address)
        try:
            room = slots(self._ray, self._needs)
            self.slots = min(room, self._workers or room)
            self._start_actor()
            end = time.monotonic() + START_SECONDS
            while not self._any_started():
                if self._step(PULSE) is None and time.monotonic() > end:
                    raise TargetError(
                        f"no worker has started on the cluster in {START_SECONDS:.0f} s",
                        "see what holds its resources with `ray status`",
                    )
                self._check_nodes()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for actor in self._actors:
            self._end(actor)
        self._actors.clear()
        if self._ray is not None:
            self._ray.shutdown()
        self._ray = None

    def submit(self, work: Work) -> None:
        """Queue a work."""
        self._queue.append(work)

    def events(self) -> Iterator[Event]:
        """What is told, until all works have ended.

        Raises:
            TargetError: no node that is left has the target.
        """
        idle_since: float | None = None  # when the last worker went; infinite: that has been told
        while True:
            self._hand_out()
            yield from self._told()
            if not self._queue and not any(actor.work for actor in self._actors):
                return
            yield from self._step(PULSE) or ()
            if self._any_started():
                idle_since = None
                continue
            self._check_nodes()
            idle_since = time.monotonic() if idle_since is None else idle_since
            if time.monotonic() - idle_since > PATIENCE:
                idle_since = math.inf
                yield Event("", NOTE, {"text": "no worker is left; waiting for a node that has room for one"})

    def _told(self) -> Iterator[Event]:
        while self._notes:
            yield self._notes.popleft()

    def _hand_out(self) -> None:
        """Give works to actors that have none; where those are too few, start more."""
        for actor in self._actors:
            if self._queue and actor.where is not None and actor.work is None:
                actor.work, actor.accepted = self._queue.popleft(), ""
                text = json.dumps(actor.work.to_wire())
                actor.waiting = actor.handle.run.options(num_returns="streaming").remote(text)
        starting = sum(actor.where is None for actor in self._actors)
        while starting < len(self._queue) and len(self._actors) < self.slots:
            self._start_actor()
            starting += 1

    def _start_actor(self) -> None:
        needs: dict[str, Any] = {"num_cpus": self._needs["CPU"], "num_gpus": self._needs["GPU"], "max_restarts": 0}
        if self._needs["memory"]:
            needs["memory"] = self._needs["memory"]
        if self._refused:
            needs["label_selector"] = {_NODE: f"!in({','.join(self._refused)})"}
        handle = self._ray.remote(ScriptActor).options(**needs).remote(self._worker)
        self._actors.append(_Actor(handle, handle.describe.remote(self._python)))

    def _step(self, seconds: float) -> list[Event] | None:
        """Wait for what comes next from any actor; what it told of works, or None when nothing came in time."""
        waiting = {actor.waiting: actor for actor in self._actors if actor.waiting is not None}
        ready, _ = self._ray.wait(list(waiting), num_returns=1, timeout=seconds, fetch_local=False)
        if not ready:
            return None
        actor = waiting[ready[0]]
        try:
            if actor.where is None:
                self._started(actor, self._ray.get(actor.waiting))
                return []
            message = self._ray.get(next(actor.waiting))
        except (StopIteration, self._ray.exceptions.RayError) as error:
            return self._died(actor, error)
        return [self._heard(actor, Event.from_wire(json.loads(message)))]

    def _started(self, actor: _Actor, where: Description) -> None:
        reason = self._unfit(where)
        if not reason:
            actor.where, actor.waiting = where, None
            return
        self._actors.remove(actor)
        self._end(actor)
        if where["node"] not in self._refused:
            self._refused[where["node"]] = f"{where['host']}: {reason}"
            self._notes.append(Event("", NOTE, {"text": f"node {where['host']} is not used: {reason}"}))
        self._start_actor()

    def _any_started(self) -> bool:
        return any(actor.where is not None for actor in self._actors)

    def _check_nodes(self) -> None:
        """Give up when no worker has started, and every node with room for one has turned out to be unfit."""
        if self._any_started() or not self._refused:
            return
        if not any(n["Alive"] and n["NodeID"] not in self._refused and self._room(n) for n in self._ray.nodes()):
            raise TargetError(
                f"no node of the cluster can be used ({'; '.join(dict.fromkeys(self._refused.values()))})",
                "name an interpreter that each node has, with the same torch, with --python PATH",
            )

    def _unfit(self, where: Description) -> str:
        """Why the node of ``where`` cannot be used; empty if it can."""
        if where["fault"]:
            return where["fault"]
        if self._reference is None:
            self._reference = where
        want = self._reference
        if (where["torch"], where["build"]) != (want["torch"], want["build"]):
            return f"its torch is {_build(where)}, not {_build(want)}"
        if _minor(where) != _minor(want):
            return f"its Python is {where['python']}, not {want['python']}"
        if where["ours"] != version("shrinkrepro"):
            return f"its shrinkrepro is {where['ours']}, not {version('shrinkrepro')}"
        return ""

    def _room(self, node: dict[str, Any]) -> bool:
        return all(node["Resources"].get(name, 0.0) >= need for name, need in self._needs.items())

    def _heard(self, actor: _Actor, event: Event) -> Event:
        if event.kind == ACCEPTED:
            actor.accepted = str(event.data["text"])
        if event.kind in ENDS:
            actor.work, actor.accepted, actor.waiting = None, "", None
        return event

    def _died(self, actor: _Actor, error: BaseException) -> list[Event]:
        """Put another in the place of a dead actor, and its work first in the queue."""
        self._actors.remove(actor)
        self._end(actor)  # one that only cannot be reached would go on with what another has by then
        where = actor.where["host"] if actor.where is not None else "a node"
        reason = f"{where}: {_first_line(error)}"
        work = actor.work
        name = work.name if work is not None else self._worker
        self._tries[name] += 1
        if work is None:
            if self._tries[name] >= TRIES and not self._actors:
                raise TargetError(
                    f"workers do not start on the cluster ({reason})", "is shrinkrepro installed on its nodes?"
                )
            self._start_actor()
            return []
        if self._tries[name] >= TRIES:
            hint = f"reduce it alone to see more: shrinkrepro reduce {work.script}"
            return [Event(name, LOST, {"message": f"{TRIES} workers died of it ({reason})", "hint": hint})]
        self._queue.appendleft(replace(work, start=actor.accepted or work.start))
        return [Event(name, NOTE, {"text": f"{name}: its worker is gone ({reason}); it goes on in another"})]

    def _end(self, actor: _Actor) -> None:
        self._ray.kill(actor.handle, no_restart=True)


def _build(where: Description) -> str:
    return f"{where['torch']} ({where['build'][:7]})" if where["build"] else where["torch"]


def _minor(where: Description) -> str:
    return where["python"].rpartition(".")[0]


def _first_line(error: BaseException) -> str:
    if isinstance(error, StopIteration):
        return "it ended without a result"
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__

"""Where scripts are worked on: what goes out to a worker, what comes back, and what every executor offers.

Decision: a script is the unit. Sources, options and verdicts travel as plain data (JSON types), never live objects or
pickled code; so a worker may be another process or another machine, and nothing above an executor knows which. What a
worker does with a script stands above this layer, so it is named by its import path and looked up in the worker.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from shrinkrepro.errors import ShrinkReproError

STARTED = "started"  # a worker has begun; data: {"worker": name}
ACCEPTED = "accepted"  # a smaller program; data: {"text", "tokens", "strategy"}
NOTE = "note"  # a line for the user; data: {"text"}
DONE = "done"  # the last of a work; data: the result, as its kind defines it
FAILED = "failed"  # the last of a work: an error of the user's; data: {"error", "message", "hint"}
LOST = "lost"  # the last of a work: no worker could end it; data: {"message", "hint"}
ENDS = frozenset({DONE, FAILED, LOST})

TRIES = 3  # of one work whose workers die, before it is lost


@dataclass(frozen=True)
class Work:
    """One thing to do with one script.

    ``sources`` are texts by path relative to the script's folder: the script, and modules beside it. ``folder`` is
    where they lie on the machine that sent them; a worker that has this very script there runs it in place, any other
    in a folder made of ``sources``. ``start`` is the last program that was accepted, to go on from; empty: the script.
    """

    name: str  # of its own among all works of a run
    kind: str  # what to do: "check", "reduce", ...
    script: str  # its relative path, a key of ``sources``
    sources: Mapping[str, str]
    folder: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)  # JSON types
    start: str = ""

    def to_wire(self) -> dict[str, Any]:
        """The work as JSON types."""
        return asdict(self)

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Work:
        """The inverse of ``to_wire``."""
        return cls(**data)


@dataclass(frozen=True)
class Event:
    """What is told of one work. Exactly one of the events of a work is one of ``ENDS``, the last."""

    work: str  # its name
    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)  # JSON types

    def to_wire(self) -> dict[str, Any]:
        """The event as JSON types."""
        return asdict(self)

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Event:
        """The inverse of ``to_wire``."""
        return cls(**data)


class Worker(Protocol):
    """What works on scripts, one at a time, and keeps what is costly (warm servers) from one to the next."""

    def run(self, work: Work, tell: Callable[[Event], None]) -> None:
        """Do ``work``; ``tell`` hears of every step, and last of its end. Raises nothing but ``KeyboardInterrupt``."""

    def close(self) -> None:
        """Let go of servers and files."""


class Executor(Protocol):
    """Workers, wherever they are. A context manager, for one thread.

    Works begin in the order in which they were given. A work whose worker died begins again elsewhere, with ``start``
    what was last accepted, at most ``TRIES`` times; then it is ``LOST``. ``Events`` of a dead try are told too, but no
    end; so each work ends once.
    """

    slots: int  # works that can be under way at a time

    def __enter__(self) -> Executor:
        """Start workers.

        Raises:
            ShrinkReproError: there are none to be had.
        """

    def __exit__(self, *error: object) -> None:
        """Stop all workers, with what they are at."""

    def submit(self, work: Work) -> None:
        """Queue a work; also while ``events`` is iterated."""

    def events(self) -> Iterator[Event]:
        """What is told, as it comes, until all works that were queued (also meanwhile) have ended."""


def load_worker(path: str) -> Worker:
    """The worker that ``package.module:name`` makes, called without arguments."""
    module, _, name = path.partition(":")
    worker: Worker = getattr(importlib.import_module(module), name)()
    return worker


def failed(work: str, error: ShrinkReproError) -> Event:
    """The end of a work by an error of the user's."""
    return Event(work, FAILED, {"error": type(error).__name__, "message": error.message, "hint": error.hint})

"""What a batch is asked for, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from shrinkrepro.errors import UsageError
from shrinkrepro.session import Confinement, Request
from shrinkrepro.session.run import DEFAULT_BUDGET
from shrinkrepro.tasks.inputs import checked, read_source
from shrinkrepro.tasks.placement import Placement


@dataclass(frozen=True)
class BatchRequest:
    """What the user asked for. Times in seconds."""

    out: Path
    paths: tuple[Path, ...] = ()
    lists: tuple[Path, ...] = ()  # files of JSON lines
    per_signature: int = 1  # scripts of each group that are reduced, the smallest first
    every: bool = False  # all of them
    budget: float | None = None  # of each reduction
    total_budget: float | None = None  # of the whole run; what it leaves is done by the same command
    fresh: bool = False  # begin anew, whatever an earlier run has left
    placement: Placement = field(default_factory=Placement)
    python: str | None = None
    device: str | None = None
    timeout: float | None = None
    match: str = "signature"
    controls: tuple[str, ...] = ()
    seed: int = 0
    isolation: str | None = None
    preload: Path | None = None
    confinement: Confinement = field(default_factory=Confinement)

    def options(self) -> dict[str, Any]:
        """What each script is run with, as JSON types: a work's ``options`` but for its budget.

        Raises:
            UsageError: something cannot work.
        """
        asked = checked(
            Request(
                script=None,
                text="pass\n",  # stands for the scripts
                python=self.python,
                device=self.device,
                budget=self.budget,
                timeout=self.timeout,
                match=self.match,
                controls=self.controls,
                seed=self.seed,
                isolation=self.isolation,
                preload=self.preload,
                confinement=self.confinement,
            )
        )
        self._check_numbers()
        found: dict[str, Any] = {
            "python": asked.python,
            "device": self.device,
            "timeout": self.timeout,
            "match": self.match,
            "controls": list(asked.controls),
            "seed": self.seed,
            "isolation": self.isolation,
            "sandbox": self.confinement.sandbox,
            "network": self.confinement.network,
            "memory": self.confinement.memory,
        }
        if self.preload is not None:
            found |= {"preload": str(self.preload.absolute()), "preload_text": read_source(self.preload)}
        return found

    def _check_numbers(self) -> None:
        self.placement.check()
        if self.per_signature < 1:
            raise UsageError(f"--per-signature {self.per_signature} is not a number of scripts", "it must be 1 or more")
        if self.total_budget is not None and self.total_budget <= 0:
            raise UsageError(f"--total-budget {self.total_budget:g} is not a time above zero", "write it as 90s or 2h")

    @property
    def script_budget(self) -> float:
        """Of one reduction, in seconds."""
        return self.budget or DEFAULT_BUDGET


@dataclass(frozen=True)
class ScriptRow:
    """What became of one script. ``status``: reduced, same bug, not reduced, passes, refused, waiting."""

    name: str
    status: str
    group: int = 0  # its group's number; 0: none
    signature: str = ""
    why: str = ""  # one line
    hint: str = ""
    tokens: int = 0
    tokens_after: int = 0
    confirmed: bool = False
    seconds: float = 0.0  # of workers, all in all


@dataclass(frozen=True)
class Group:
    """Scripts with one bug."""

    number: int  # from 1, the largest group first
    title: str
    signature: str
    blame: str  # what a comparison fails by, in words; empty where the signature says it
    scripts: tuple[str, ...]  # names, the smallest first
    reduced: tuple[str, ...]  # names of those that were reduced
    source: str  # the smallest of the results; empty where none was reduced
    tokens: int  # of it
    file: str = ""  # of its case, below the folder of the batch
    is_case: bool = False  # False: the plain program, which is no case for a reason in ``why``
    why: str = ""


@dataclass(frozen=True)
class BatchResult:
    """What a run found, with what earlier runs had. Times in seconds."""

    groups: tuple[Group, ...]
    rows: tuple[ScriptRow, ...]
    ended: str  # done, budget, interrupted
    seconds: float  # of this run
    worker_seconds: Mapping[str, float] = field(default_factory=dict)  # by kind of work, of all runs
    resumed: int = 0  # scripts of which an earlier run had something
    notes: tuple[str, ...] = ()

    def count(self, *statuses: str) -> int:
        """How many scripts have one of ``statuses``."""
        return sum(row.status in statuses for row in self.rows)

    @property
    def ok(self) -> bool:
        """Whether every script was looked at, and every failing one is in a group that has a case."""
        kept = {group.number for group in self.groups if group.is_case}
        return (
            self.ended == "done"
            and not self.count("waiting")
            and all(not row.group or row.group in kept for row in self.rows)
        )


class BatchProgress(Protocol):
    """What a batch tells while it goes on. Methods should return at once."""

    def stage(self, text: str, total: int) -> None:
        """A new stage ("checking", "reducing", "writing cases") of ``total`` works."""

    def began(self, script: str, worker: str) -> None:
        """A worker has begun with a script."""

    def smaller(self, script: str, tokens: int) -> None:
        """A script was reduced to ``tokens``."""

    def ended(self, script: str, outcome: str) -> None:
        """A work ended; ``outcome`` in a few words."""

    def groups(self, found: Sequence[tuple[str, int, str]]) -> None:
        """The groups so far: title, scripts, state."""

    def note(self, text: str) -> None:
        """Something the user should know, one line."""

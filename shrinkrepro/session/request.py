"""What a run is asked for, what comes out of it, and what it tells on the way.

Decision: the run is a function from a ``Request`` to a ``Reduction`` that reports to a ``Progress``;
the command line, the library and the benchmark differ only in the progress that they pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from shrinkrepro.oracles.flakiness import Rate


@dataclass(frozen=True)
class Confinement:
    """What programs may do beyond computing; by default nothing that outlives them."""

    sandbox: bool = True  # False: they run as the user does, within limits of time and memory
    network: bool = False
    allow_write: tuple[Path, ...] = ()  # files and folders that they really write to
    memory: int | None = None  # bytes that each may add; None: half of what is free, shared by the jobs


@dataclass(frozen=True)
class Request:
    """What the user asked for. Times in seconds; ``None`` means: decide from the original's runs."""

    script: Path | None  # a file, or None with ``module`` or ``text``
    module: str | None = None  # "pkg.mod", run as with -m
    text: str | None = None  # the source itself; with ``script`` or ``module``: in the place of what stands there
    args: tuple[str, ...] = ()
    python: str | None = None  # target interpreter; None: the host's own
    device: str | None = None
    cwd: Path | None = None  # None: where one stands
    budget: float | None = None
    jobs: int | None = None  # None: the cores
    timeout: float | None = None
    match: str = "signature"  # signature | message | type | /regex/
    keep: str | None = None  # the source must keep matching this regex
    exclude: str | None = None  # a known other failure: a regex on the output
    seed: int = 0
    isolation: str | None = None  # fork | spawn; None: fork where it serves
    preload: Path | None = None
    differs: tuple[str, str] | None = None  # expressions to compare in a last line, of a script that does not fail
    controls: tuple[str, ...] = ()  # names (primal, reference, ...); "none"; none given: chosen from the original
    confinement: Confinement = Confinement()
    anyway: bool = False  # reduce even a failure that comes before torch
    output: Path | None = None  # where the result goes; then the best so far is beside it, and a journal is kept
    fresh: bool = False  # begin anew, whatever an earlier run's journal has


@dataclass(frozen=True)
class AlsoFound:
    """The smallest program seen with another signature."""

    label: str
    source: str


@dataclass(frozen=True)
class Counts:
    """Queries of a run. ``run`` were executed; the others cost none."""

    run: int = 0
    cached: int = 0
    filtered: int = 0
    resumed: int = 0  # answered by the journal of an earlier run
    by_outcome: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Reduction:
    """The result of a run. ``source`` is byte for byte the text that was confirmed."""

    source: str
    original: str
    signature: str  # in words, DESIGN 4
    failure: str  # the last lines that a fresh run of ``source`` printed
    confirmed: int  # how many of ``confirmations`` fresh runs failed the same
    confirmations: int
    tokens_before: int
    tokens_after: int
    counts: Counts
    seconds: float
    ended: str  # "minimal" (no single edit is still interesting), "budget", "interrupted"
    steps: tuple[tuple[str, str], ...] = ()  # (strategy, source) of every accepted step
    marks: tuple[tuple[int, float], ...] = ()  # queries and seconds up to each of them
    also_found: tuple[AlsoFound, ...] = ()
    findings: tuple[str, ...] = ()  # one line each, for the user
    faults: tuple[str, ...] = ()  # strategies of ours that raised: "name: error"
    rate: Rate | None = None  # of a failure that comes only sometimes: how often the result fails
    rate_before: Rate | None = None  # and the original
    unwritten: str = ""  # why ``source`` is not in the file that was asked for


class Progress(Protocol):
    """What a run tells while it goes on. Methods must not raise and should return at once."""

    def phase(self, text: str) -> None:
        """A new phase: "checking the original", "reducing", "confirming"."""

    def step(self, strategy: str, source: str, tokens: int) -> None:
        """A reduction was accepted."""

    def query(self, counts: Counts, strategy: str) -> None:
        """Some queries were made, by ``strategy``."""

    def note(self, text: str) -> None:
        """Something the user should know, one line."""

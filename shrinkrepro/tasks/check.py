"""The task behind ``shrinkrepro check``: a few runs of a script, and what can be said of them."""

from __future__ import annotations

from dataclasses import dataclass

from shrinkrepro.session import Progress, Request


@dataclass(frozen=True)
class Run:
    """One run of the script. ``where`` is "fresh", "server 1" or "server 2"; times in seconds."""

    where: str
    outcome: str  # the failure in words, or "passed"
    same: bool  # as the first run
    seconds: float


@dataclass(frozen=True)
class CheckResult:
    """What a check found. Times in seconds."""

    signature: str  # in words
    failure: str  # the last lines that the fresh run printed
    where: str  # the script's own line that fails, as ``name.py:12  source``; empty when unknown
    runs: tuple[Run, ...]
    before: float | None  # of the fresh run, how long it took to reach the failing call; None: not known
    isolation: str  # what ``reduce`` would use
    plan: tuple[str, ...]  # what ``reduce`` would do, a line each
    findings: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """How many runs failed as the first did."""
        return sum(run.same for run in self.runs)


def check(request: Request, progress: Progress) -> CheckResult:
    """Run what ``request`` names, fresh and in two fork servers.

    Raises:
        ShrinkReproError: the request cannot work, or there is no failure to reduce.
    """
    raise NotImplementedError

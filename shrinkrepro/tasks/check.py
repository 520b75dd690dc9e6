"""The task behind ``shrinkrepro check``: a few runs of a script, and what can be said of them.

Decision: it makes the runs that ``reduce`` starts with, by the same code, so that what it foretells is
what ``reduce`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shrinkrepro.oracles import controls
from shrinkrepro.oracles.faces import Faces
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import signature_of
from shrinkrepro.protocol import OK, RUN, TIMEOUT, Execution, Job
from shrinkrepro.session import Progress, Request
from shrinkrepro.session.judge import SessionJudge
from shrinkrepro.session.original import Original, run_original
from shrinkrepro.tasks.failing_call import place_of, seconds_before
from shrinkrepro.tasks.inputs import checked
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.spawn import SpawnPool

_RUNS_PER_SERVER = 2  # a failure that only a server's first child shows is seen
_SPAWNED_RUNS = 4  # when the servers differ: enough to tell "always" from "sometimes"
_FAILURE_LINES = 12  # of the fresh run's output
PASSED = "passed"


@dataclass(frozen=True)
class Run:
    """One run of the script; ``place`` is "fresh", "server 1", "server 2" or "spawned". Seconds of wall time."""

    place: str
    outcome: str  # the failure in words, or "passed"
    same: bool  # as the fresh run
    seconds: float


@dataclass(frozen=True)
class CheckResult:
    """What a check found. Times in seconds."""

    signature: str  # in words
    failure: str  # the last lines that the fresh run printed
    where: str  # the innermost line of the user's own that fails, ``train.py:12  text``; empty when unknown
    runs: tuple[Run, ...]
    before: float | None  # how much of a warm run lies before the failing call; None: not known
    isolation: str  # fork or spawn, as ``reduce`` would choose
    reducible: bool
    plan: tuple[str, ...]  # what ``reduce`` would do, a line each

    @property
    def failed(self) -> int:
        """How many runs failed as the fresh one did."""
        return sum(run.same for run in self.runs)


def check(request: Request, progress: Progress) -> CheckResult:
    """Run what ``request`` names, fresh and in two fork servers.

    Raises:
        ShrinkReproError: the request cannot work, or there is no failure to reduce.
    """
    request = checked(request)
    original = run_original(request, progress)
    oracle = original.oracle
    text = original.script.text
    runs = [_run("fresh", original.fresh, oracle, text)]
    job = Job(text, RUN, request.timeout or max(30.0, 5 * original.fresh.seconds), alone=True)
    before: float | None = None
    isolation = "spawn"
    held: tuple[str, ...] = ()
    if request.isolation != "spawn":
        for number in (1, 2):
            progress.phase(f"running it in server {number}")
            with Pool(original.target) as pool:
                if number == 1:
                    progress.note(f"confinement: {pool.info.confinement}")
                runs += [_run(f"server {number}", e, oracle, text) for e in pool.run([job] * _RUNS_PER_SERVER)]
                if number == 2 and all(run.same for run in runs):
                    isolation = "fork"
                    before = seconds_before(original, oracle, pool, job.timeout)
                    progress.phase("asking which controls it passes")
                    held = _held(pool, oracle, text, progress, runs[-1].seconds)
    flaky = _at_times(original, runs)
    if flaky:
        isolation = "fork"
    if isolation == "spawn":
        progress.phase("running it with an interpreter for each run")
        with SpawnPool(original.target) as pool:
            runs += [_run("spawned", e, oracle, text) for e in pool.run([job] * _SPAWNED_RUNS)]
    reducible = isolation == "fork" or all(run.same for run in runs if run.place == "spawned")
    return CheckResult(
        signature=oracle.signature.describe(),
        failure="\n".join(
            (original.fresh.stderr.strip() or original.fresh.stdout.strip()).splitlines()[-_FAILURE_LINES:]
        ),
        where=place_of(original),
        runs=tuple(runs),
        before=before,
        isolation=isolation,
        reducible=reducible,
        plan=_plan(original, request, isolation, reducible, held, flaky),
    )


def _at_times(original: Original, runs: Sequence[Run]) -> bool:
    """Whether it fails only sometimes in warm servers, where ``reduce`` can afford to run a candidate often."""
    warm = [run for run in runs if run.place.startswith("server")]
    mixed = any(run.outcome == PASSED for run in warm) and all(run.same or run.outcome == PASSED for run in warm)
    return original.flaky is not None or (mixed and any(run.same for run in warm))


def _run(place: str, execution: Execution, oracle: Oracle, source: str) -> Run:
    signature = signature_of(execution)
    outcome = signature.describe() if signature is not None else PASSED
    if execution.status == TIMEOUT:
        outcome = "timed out"
    elif execution.status != OK and signature is None:
        outcome = execution.detail or execution.status
    return Run(place, outcome, oracle.judge(execution, source).interesting, execution.seconds)


def _held(pool: Pool, oracle: Oracle | Faces, text: str, progress: Progress, seconds: float) -> tuple[str, ...]:
    """What ``reduce`` would hold every candidate to, in words."""
    judge = SessionJudge(pool, oracle, progress)
    judge.calibrate(seconds)
    judge.settle_controls(text)
    if judge.controls.chosen == ():
        return (f"note that {judge.controls.fails_all(oracle.signature)}",)
    return tuple(f"keep what, like the script, {controls.passes(control)}" for control in judge.controls.chosen or ())


def _plan(
    original: Original, request: Request, isolation: str, reducible: bool, held: tuple[str, ...], flaky: bool
) -> tuple[str, ...]:
    if not reducible:
        return ("refuse: the failure does not come every time; make it, for instance with torch.manual_seed(...)",)
    plan = [f"reduce it to the smallest program with the same {request.match}"]
    if original.local.sources:
        plan.append(f"fold the local modules into it: {', '.join(original.local.sources)}")
    if flaky:
        plan.append("give it seeds if that makes it fail every time; else run each candidate often, and keep the rate")
    plan.extend(held)
    how = {"fork": "fork each query from a warm server", "spawn": "start an interpreter for each query (slower)"}
    return (*plan, how[isolation])

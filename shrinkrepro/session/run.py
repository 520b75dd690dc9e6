"""A whole run: the original's failure, the engine under a budget, and the confirmed end.

Decision: the text that is returned is the text that was confirmed. When the end cannot be confirmed in a fresh
interpreter, the last accepted program that can be is returned, and ``confirmed`` says so.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from shrinkrepro.core.engine import Engine
from shrinkrepro.core.program import Program, count_tokens
from shrinkrepro.core.registry import load_strategies
from shrinkrepro.core.static import unimported
from shrinkrepro.core.strategy import Strategy
from shrinkrepro.errors import ShrinkReproError, TargetError
from shrinkrepro.oracles import controls
from shrinkrepro.oracles.faces import Faces
from shrinkrepro.oracles.flakiness import RAREST, Rate
from shrinkrepro.oracles.mismatch import Difference
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import CRASH
from shrinkrepro.protocol import OK, RUN, Execution, Job
from shrinkrepro.report.layout import layout
from shrinkrepro.session.best import Best
from shrinkrepro.session.chance import HARNESS_SEEDS, anywhere, pinned_text
from shrinkrepro.session.controls import Controls
from shrinkrepro.session.flaky import Flake
from shrinkrepro.session.journal import Journal
from shrinkrepro.session.judge import BudgetSpent, SessionJudge
from shrinkrepro.session.milestones import Drifted, FreshRuns, Milestones
from shrinkrepro.session.original import Original, flaky, one_file, run_original
from shrinkrepro.session.request import Progress, Reduction, Request
from shrinkrepro.session.warm import open_pool
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.pool import Pool, default_jobs
from shrinkrepro.workers.shelf import Shelf
from shrinkrepro.workers.target import Target

CONFIRMATIONS = 3  # fresh runs of the result
OTHER_SEEDS = (11, 12, 13, 14)  # of the harness; a program that fails with all of them does not depend on its seeds
SEEDS_TRIED = 8
FRESH_LOOKS = 60  # fresh runs in which a flaky failure has to show itself once
FRESH_SECONDS = 60.0  # of fresh runs of a flaky result, once it has failed
DEFAULT_BUDGET = 600.0  # seconds


@dataclass
class _State:
    """What has been accepted so far, and by which strategies more is looked for."""

    strategies: Sequence[Strategy]
    steps: list[tuple[str, str]] = field(default_factory=list)
    marks: list[tuple[int, float]] = field(default_factory=list)  # queries and seconds up to each step
    started: float = field(default_factory=time.monotonic)
    ended: str = "minimal"
    findings: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    others: list[Target] = field(default_factory=list)  # where the result must pass: interpreters given as controls
    alone: Target | None = None  # where the result is confirmed: with no local modules when they were folded in
    journal: Journal | None = None
    best: Best | None = None
    milestones: Milestones | None = None  # of a crash

    def accept(self, strategy: str, source: str, queries: int) -> None:
        """Take a step, on the disk too; ``queries`` are those made so far."""
        self.steps.append((strategy, source))
        self.marks.append((queries, round(time.monotonic() - self.started, 3)))
        if self.journal is not None:
            self.journal.step(strategy, source)
        if self.best is not None:
            self.best.step(source)


def run(request: Request, progress: Progress, shelf: Shelf | None = None) -> Reduction:
    """Reduce what ``request`` names; ``shelf`` keeps warm servers for callers that reduce many scripts.

    Raises:
        ShrinkReproError: there is nothing to reduce, or it cannot be run.
    """
    strategies = load_strategies()  # before anything runs: a plug-in that cannot be loaded is told at once
    best = Best(request.output, progress.note) if request.output is not None else None
    first = run_original(request, progress)
    state = _State(strategies, journal=first.journal, best=best)
    try:
        reduction = _run(request, progress, first, state, shelf)
        if best is not None:
            reduction = replace(reduction, unwritten=best.end(reduction.source))
        if state.journal is not None and reduction.ended == "minimal" and not reduction.unwritten:
            state.journal.remove()
    except (OSError, ShrinkReproError) as error:
        if best is None or not state.steps:
            if state.journal is not None:
                state.journal.remove()  # there was nothing to reduce, and a next try begins with fresh eyes
            raise
        raise _stopped(error, best) from error
    finally:
        if state.journal is not None:
            state.journal.close()
    return reduction


def _stopped(error: OSError | ShrinkReproError, best: Best) -> TargetError:
    """The error for a run that cannot go on, with what it has so far."""
    what = error.message if isinstance(error, ShrinkReproError) else f"{error.strerror}: {error.filename or 'a file'}"
    kept = f"the best so far is {best.partial}; " if best.partial.exists() else ""
    return TargetError(f"the run cannot go on: {what}", f"{kept}the same command goes on from there")


def _run(request: Request, progress: Progress, first: Original, state: _State, shelf: Shelf | None = None) -> Reduction:
    started = state.started = time.monotonic()
    deadline = started + (request.budget or DEFAULT_BUDGET)
    progress.phase("running it in warm servers")
    ready = open_pool(first, request, progress, shelf)
    original, pool, oracle = ready.original, ready.pool, ready.oracle
    state.findings = ready.findings
    with pool, ExitStack() as others:
        judge = SessionJudge(
            pool,
            oracle,
            progress,
            deadline=deadline,
            timeout=request.timeout,
            keep=request.keep,
            controls=_controls(request, original, others),
        )
        judge.base_modules |= unimported(original.script.text, judge.warm_modules, judge.base_modules)
        program = _start(original, judge, state, progress)
        alone = oracle.in_fresh if isinstance(oracle, Faces) else oracle
        if isinstance(alone, Oracle) and isinstance(judge.oracle, Oracle):
            alone = replace(alone, anywhere=judge.oracle.anywhere)
        if _is_crash(oracle) and judge.flake is None:
            limit = request.timeout or max(60.0, 3 * original.fresh.seconds)
            asked = FreshRuns(state.alone or original.target, pool.info.fingerprint, limit, original.journal)
            state.milestones = Milestones(lambda text: alone.judge(asked.run(text), text).interesting)
            judge.fresh = state.milestones.holds
        progress.phase("reducing")
        _reduce(program, judge, state, progress)
        progress.phase("confirming")
        source, runs = _confirm(original, alone, request, state, judge.flake)
        rate = judge.flake.measured(source) if judge.flake is not None else None
    if len(judge.seeds) > 1:
        kept = "the result keeps a seed" if "seed(" in source else "the result needs no seed"
        state.findings.append(f"the original fails with some random numbers only; {kept}")
    good = [run for run in runs if alone.judge(run, source).interesting]
    return Reduction(
        source=source,
        original=original.script.text,
        signature=_described(judge.oracle),
        failure=_last_lines((good or runs)[0]),
        confirmed=len(good) if state.ended != "unconfirmed" else 0,
        confirmations=CONFIRMATIONS if judge.flake is None else len(runs),
        tokens_before=count_tokens(original.script.text) + sum(map(count_tokens, original.local.sources.values())),
        tokens_after=count_tokens(source),
        counts=judge.counts,
        seconds=time.monotonic() - started,
        ended="minimal" if state.ended == "unconfirmed" else state.ended,
        steps=tuple(state.steps),
        marks=tuple(state.marks),
        also_found=judge.also_found(),
        findings=tuple(state.findings),
        faults=tuple(state.faults),
        rate=rate,
        rate_before=judge.flake.original if judge.flake is not None else None,
    )


def _start(original: Original, judge: SessionJudge, state: _State, progress: Progress) -> Program:
    """The program that the engine starts from: one file, in normal form, still failing."""
    limit = max(30.0, 5 * original.fresh.seconds)
    if original.flaky is not None:
        judge.flake = judge.flaky(original.flaky)

    def holds(text: str) -> bool:
        execution = judge.first_run(text, limit) if judge.flake is not None else _run_once(judge, text, limit)
        judge.calibrate(execution.seconds)
        same = judge.oracle.judge(execution, text).interesting
        if same and isinstance(judge.oracle, Oracle):
            judge.oracle = replace(judge.oracle, difference=Difference.of(execution))
        return same

    text = one_file(original, holds, state.findings)
    state.alone = original.target
    if text != original.script.text:
        state.alone = replace(original.target, sys_path0=judge.pool.scratch, package="")
    program = Program.parse(text)
    if not holds(program.source) and not _fails_at_times(judge, program.source, limit):
        raise TargetError(
            "the failure is another when the script is printed anew, without its comments and layout",
            "does it read its own source? Say so in an issue; --match type may help",
        )
    steady = judge.flake is not None or _is_crash(judge.oracle) or _steady(judge, program.source)
    pinned = program if original.pinned else None if steady else _pinned(judge, program)
    if pinned is not None:
        program = pinned
        judge.seeds = (None, *OTHER_SEEDS[:2])
        progress.note("it fails with some random numbers only, so seeds were added at its start")
    elif not steady and not _fails_at_times(judge, program.source, limit):
        raise flaky(original.script, 0, len(OTHER_SEEDS))
    if judge.flake is not None:
        progress.phase("measuring how often it fails")
        rate = judge.flake.settle(program.source)
        if rate.failed < 2 or rate.interval()[1] < RAREST:
            raise flaky(original.script, rate.failed, rate.runs)
        progress.note(f"it fails only sometimes: {rate.describe()}; every candidate is judged by repeated runs")
    progress.step("normal form", program.source, program.tokens)
    judge.settle_controls(program.source)
    if judge.controls.chosen == () and not judge.controls.given:
        state.findings.append(judge.controls.fails_all(judge.oracle.signature))
        progress.note(state.findings[-1])
    for control in judge.controls.chosen or ():
        progress.note(f"control: the script {controls.passes(control)}")
    for control, other in judge.controls.elsewhere:
        versions = f"fails with torch {judge.pool.info.torch}, passes with torch {other.info.torch}"
        state.findings.append(f"{versions} ({control.python})")
        state.others.append(replace(state.alone, python=other.target.python))
    state.accept("normal form", program.source, judge.counts.run)
    return program


def _fails_at_times(judge: SessionJudge, source: str, limit: float) -> bool:
    """Whether ``source``, which did not fail a moment ago, does fail; it is judged as flaky if it does so at times."""
    runs = judge.pool.run([Job(source, RUN, limit, alone=True, seed=seed) for seed in range(101, 121)])
    if isinstance(judge.oracle, Oracle):
        judge.oracle = anywhere(judge.oracle, runs, source) or judge.oracle
    failed = [judge.oracle.judge(run, source).interesting for run in runs]
    if not any(failed):
        return False
    if not all(failed) or getattr(judge.oracle, "anywhere", False):
        judge.flake = judge.flaky(Rate(sum(failed), len(failed)))
    return True


def _run_once(judge: SessionJudge, text: str, limit: float) -> Execution:
    [execution] = judge.pool.run([Job(text, RUN, limit, alone=True)])
    return execution


def _controls(request: Request, original: Original, others: ExitStack) -> Controls:
    """The controls that the user asked for; workers of other interpreters are closed by ``others``."""
    named = controls.named(request.controls)
    pythons = {control.python for _, meant in named or () for control in meant if control.python is not None}
    pools = {
        python: others.enter_context(Pool(replace(original.target, python=python), memory=original.journal))
        for python in sorted(pythons)
    }
    return Controls(named, pools)


def _described(oracle: Oracle | Faces) -> str:
    known = oracle.difference if isinstance(oracle, Oracle) else None
    return oracle.signature.describe() + (f": {known.describe()}" if known is not None else "")


def _is_crash(oracle: Oracle | Faces) -> bool:
    """Whether memory decides what a run shows: other random numbers then mean another layout, not another failure."""
    return isinstance(oracle, Faces) or oracle.signature.kind == CRASH


def _steady(judge: SessionJudge, source: str) -> bool:
    """Whether ``source`` fails the same with other random numbers."""
    return all(judge.fails_with(source, OTHER_SEEDS))


def _pinned(judge: SessionJudge, program: Program) -> Program | None:
    """``program`` with seeds of its own, with which it fails whatever the harness's are; None if there are none."""
    text = pinned_text(program.source, lambda new: all(judge.fails_with(new, HARNESS_SEEDS)), SEEDS_TRIED)
    return Program.parse(text) if text is not None else None


def _reduce(first: Program, judge: SessionJudge, state: _State, progress: Progress) -> None:
    """Search, and where what is left fails more rarely, or in a server only, go back and search on."""
    start: Program | None = first
    while start is not None:
        _search(start, judge, state, progress)
        try:
            start = _before_drift(judge, state, progress) if state.ended != "interrupted" else None
            start = start or _before_unseen(judge, state, progress)
        except KeyboardInterrupt:
            start, state.ended = None, "interrupted"


def _before_drift(judge: SessionJudge, state: _State, progress: Progress) -> Program | None:
    """The last step that fails as often as the original, when the end does not; what came after it is refused."""
    flake = judge.flake
    if flake is None or len(state.steps) < 2 or flake.ends_well(state.steps[-1][1]):
        return None
    if flake.rarer_now(state.steps[0][1]):
        progress.note(f"the original itself fails more rarely by now: {flake.original.describe()}")
        if flake.ends_well(state.steps[-1][1]):
            return None
    low, high = 0, len(state.steps) - 1  # the first is the original, the second fails too rarely
    while high - low > 1:
        middle = (low + high) // 2
        if flake.ends_well(state.steps[middle][1]):
            low = middle
        else:
            high = middle
    judge.refuse(state.steps[high][1], "fails more rarely than the original")
    progress.note(f"the failure became rarer with {state.steps[high][0]}: going back to before it")
    del state.steps[high:]
    return Program.parse(state.steps[-1][1])


def _before_unseen(judge: SessionJudge, state: _State, progress: Progress) -> Program | None:
    """The last step that a fresh interpreter shows, when it does not show the end; what came after it is refused."""
    if state.milestones is None or state.ended not in ("minimal", "drifted"):
        return None
    good = state.milestones.last_good([source for _, source in state.steps])
    later = state.steps[good + 1 :]
    if good < 0 or (not later and state.ended == "minimal"):
        return None
    state.ended = "minimal"
    for strategy, source in later:
        judge.refuse(source, "a fresh interpreter does not show it")
        progress.note(f"{strategy} left what fails in a warm server only: going back to before it")
    del state.steps[good + 1 :], state.marks[good + 1 :]
    return Program.parse(state.steps[-1][1])


def _search(first: Program, judge: SessionJudge, state: _State, progress: Progress) -> None:
    engine = Engine(state.strategies, judge)
    try:
        for step in engine.run(first):
            state.accept(step.strategy, step.program.source, judge.counts.run)
            progress.step(step.strategy, step.program.source, step.program.tokens)
            judge.adopt(step.program)
    except BudgetSpent:
        state.ended = "budget"
    except Drifted:
        state.ended = "drifted"
    except KeyboardInterrupt:
        state.ended = "interrupted"
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second one ends at once
    state.faults.extend(f"{fault.strategy}: {fault.error}" for fault in engine.faults)


def _confirm(
    original: Original, oracle: Oracle | Faces, request: Request, state: _State, flake: Flake | None
) -> tuple[str, Sequence[Execution]]:
    """The last accepted text that fails the same in a fresh interpreter, and its runs."""
    limit = request.timeout or max(60.0, 3 * original.fresh.seconds)
    target = state.alone or original.target
    for text, earlier in _endings([source for _, source in reversed(state.steps)]):
        if flake is not None:
            runs = _fresh_until(target, text, limit, oracle, flake)
            passed = all(run_fresh(other, text, limit).status == OK for other in state.others)
            if passed and any(oracle.judge(run, text).interesting for run in runs):
                return text, runs
            continue
        runs = [run_fresh(target, text, limit)]
        passed = all(run_fresh(other, text, limit).status == OK for other in state.others)
        if passed and oracle.judge(runs[0], text).interesting:
            with ThreadPoolExecutor(request.jobs or default_jobs()) as threads:
                more = [threads.submit(run_fresh, target, text, limit) for _ in range(CONFIRMATIONS - 1)]
            runs.extend(run.result() for run in more)
            if earlier:
                state.findings.append("the smallest program found fails only in a warm server: an earlier one is given")
                state.ended = "unconfirmed" if state.ended == "minimal" else state.ended
            return text, runs
    state.ended = "unconfirmed"
    return original.script.text, [original.fresh]


def _fresh_until(target: Target, text: str, limit: float, oracle: Oracle | Faces, flake: Flake) -> list[Execution]:
    """Fresh runs of ``text`` until it failed the same as often as is confirmed, or should have failed."""
    runs: list[Execution] = []
    failed = 0
    while failed < CONFIRMATIONS and len(runs) < CONFIRMATIONS * flake.looks and (failed or len(runs) < FRESH_LOOKS):
        runs.append(run_fresh(target, text, limit))
        failed += oracle.judge(runs[-1], text).interesting
        if failed and sum(run.seconds for run in runs) > FRESH_SECONDS:
            break
    return runs


def _endings(sources: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Texts to confirm, newest first, each laid out only when its turn comes, and whether it is an earlier program.

    First the end as readers want it and as it was judged, then programs further and further back.
    """
    yield layout(sources[0]), False
    yield sources[0], False
    seen = {sources[0]}
    for k in range(len(sources).bit_length()):
        source = sources[min(2**k, len(sources) - 1)]
        if source not in seen:
            seen.add(source)
            yield layout(source), True


def _last_lines(execution: Execution, lines: int = 12) -> str:
    text = execution.stderr.strip() or execution.stdout.strip()
    return "\n".join(text.splitlines()[-lines:])

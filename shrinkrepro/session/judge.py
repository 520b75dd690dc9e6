"""The session's judge: the engine's questions become queries, verdicts and counts.

Decision: a query is spent only on a text that the static filter lets pass and that was not judged before; what looks
interesting is judged again in a process of its own, together with its control, before it is adopted. So a batch can
cost a reduction but never make a false one.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.static import refusal
from shrinkrepro.core.verdict import Outcome, Verdict
from shrinkrepro.oracles.faces import Faces
from shrinkrepro.oracles.flakiness import Rate
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import EXCEPTION, EXIT, HANG, MISMATCH
from shrinkrepro.protocol import LOST, OBSERVE, OK, RUN, TIMEOUT, Execution, Job
from shrinkrepro.session.checks import raises_itself, rests_on
from shrinkrepro.session.controls import FIRST_SECONDS, Controls, held
from shrinkrepro.session.flaky import Flake
from shrinkrepro.session.observer import Observer
from shrinkrepro.session.request import AlsoFound, Counts, Progress
from shrinkrepro.workers.pool import Pool

SLOWEST = 60.0  # seconds; no candidate runs longer, whatever the original took
SLACK = 0.7  # seconds beyond a multiple of the current program's time: a busy machine is no hang
SLOW = 0.3  # seconds from which a run is worth being spared
CHEAP = 0.4  # of its time, what the controls may take to be asked first
PATIENCE = 2.5  # times the current program's own time; a simpler program is seldom slower


class BudgetSpent(Exception):
    """The run's time is up."""


class SessionJudge:
    """Judges candidates on a pool of workers; see ``core.engine.Judge``."""

    def __init__(
        self,
        pool: Pool,
        oracle: Oracle | Faces,
        progress: Progress,
        *,
        deadline: float | None = None,
        timeout: float | None = None,
        keep: str | None = None,
        controls: Controls | None = None,
    ) -> None:
        self.pool = pool
        self.oracle = oracle
        self.controls = controls or Controls()
        self.seeds: tuple[int | None, ...] = (None,)  # with each of which a program must fail; None: the target's
        self.flake: Flake | None = None  # of a failure that comes only sometimes: judged by repeated runs
        self.fresh: Callable[[str], bool] | None = None  # asked before a program is adopted, where servers may mislead
        self.counts = Counts()
        self._observer = Observer(self._observed, self.controls)
        self._also: dict[str, AlsoFound] = {}
        self._progress = progress
        self._deadline = deadline
        self._timeout = timeout
        self._keep = re.compile(keep) if keep else None
        self._checks = oracle.signature.kind == MISMATCH  # whether the program finds fault: asserts, raises, exits
        self._traits: frozenset[str] = frozenset()  # what the original's check rests on, and any other must
        self._verdicts: dict[bytes, Verdict] = {}
        self._unresolved: set[bytes] = set()  # given up in a pass; asked once more, alone, in the last sweep
        self._alone: dict[bytes, bool] = {}  # judged in a process of their own: did they draw random numbers
        self._confirmed: set[bytes] = set()  # judged with their control
        self._passed: set[bytes] = set()  # passed their controls
        self._doubted: set[str] = set()  # strategies whose last program to be confirmed failed its control
        self._rates: dict[bytes, Rate] = {}  # of flaky programs that were confirmed
        self._outcomes: Counter[str] = Counter()
        self._seconds = 2.0  # of the current program's run
        self.warm_modules = pool.info.modules
        self.base_modules = pool.info.torch_modules  # that a program may reach without importing them

    def judge(self, sources: Sequence[str], strategy: str, alone: bool) -> Sequence[bool]:
        """Which of ``sources`` look interesting: fail the same, perhaps in a batch, control not asked yet.

        Raises:
            BudgetSpent: the time is up.
        """
        self._check_clock()
        keys = [_digest(source) for source in sources]
        asked: dict[bytes, str] = {}
        cached = filtered = 0
        for key, source in zip(keys, sources):
            if key in self._verdicts and not (alone and key in self._unresolved):
                cached += 1
            elif key not in asked:
                reason = self._refusal(source)
                if reason:
                    filtered += 1
                    self._verdicts[key] = Verdict(Outcome.INVALID, reason=reason)
                else:
                    asked[key] = source
        for key, verdict in zip(asked, self._query(list(asked.values()), alone, strategy in self._doubted)):
            self._verdicts[key] = verdict
            self._outcomes[verdict.outcome.value] += 1
        given_up = {key for key in asked if self._verdicts[key].outcome is Outcome.UNRESOLVED}
        self._unresolved = self._unresolved - asked.keys() if alone else self._unresolved | given_up
        self.counts = replace(
            self.counts,
            cached=self.counts.cached + cached,
            filtered=self.counts.filtered + filtered,
            by_outcome=dict(self._outcomes),
        )
        self._progress.query(self.counts, strategy)
        return [self._verdicts[key].interesting for key in keys]

    def observe(self, program: Program) -> Facts:
        """Facts of ``program``, or none."""
        self._check_clock()
        return self._observer.facts(program, cheaply=self._control_is_cheap())

    def compare(self, program: Program) -> Facts:
        """Facts of ``program`` beside those of the run that replaces transforms, where values matter; else alone."""
        self._check_clock()
        return self._observer.compared(program, values=self._checks)

    def _observed(self, program: Program, mode: str) -> dict[str, Any] | None:
        """The facts of one observed run, if observation did not change how it ends."""

        def ends_well(run: Execution) -> bool:
            return self._same(run, program.source) if mode == OBSERVE else run.status == OK

        limit = self._limit() * 3 + 2
        if self.flake is not None:
            found = self.flake.failing(program.source, mode, ends_well, limit)
            return found.facts if found is not None else None
        [execution] = self._run([Job(program.source, mode, limit, alone=True)])
        return execution.facts if execution.status != LOST and ends_well(execution) else None

    def _same(self, execution: Execution, source: str) -> bool:
        return self._judged(execution, source).interesting

    def _judged(self, execution: Execution, source: str) -> Verdict:
        verdict = self.oracle.judge(execution, source)
        if self._traits and verdict.interesting:
            lost = self._traits - rests_on(execution, source, self._traits)
            if lost:
                return Verdict(Outcome.SLIPPED, "", f"the check no longer rests on {' and '.join(sorted(lost))}")
        return verdict

    def adopt(self, program: Program) -> None:
        """Called for each accepted program: settles the control while it is open, and what is asked of the next."""
        if self.flake is not None and _digest(program.source) in self._rates:
            self.flake.adopt(self._rates[_digest(program.source)])
        if self.controls.chosen is None:
            self.settle_controls(program.source)
        if chosen := self.controls.reconsider(program.source, self._run_controls, self._limit(self.controls.seconds)):
            self._progress.note(chosen)
            self._verdicts = {key: v for key, v in self._verdicts.items() if not v.interesting}  # nor asked it yet
            self._confirmed &= self._verdicts.keys()
            self._passed.clear()

    def fails_with(self, source: str, seeds: Sequence[int]) -> list[bool]:
        """Whether ``source`` fails the same with each of ``seeds`` of the harness."""
        limit = max(5.0, 3 * self._limit())
        runs = self._run([Job(source, RUN, limit, alone=True, seed=seed) for seed in seeds])
        return [self._same(run, source) for run in runs]

    def settle_controls(self, source: str) -> None:
        """Find out which controls ``source`` passes, and what its check rests on.

        Raises:
            UsageError: it fails one that the user named.
        """
        kind, limit = self.oracle.signature.kind, self._limit(self.controls.seconds)
        if kind in (MISMATCH, EXCEPTION, EXIT):
            failing = self.first_run(source, limit)
            self._checks = kind in (MISMATCH, EXIT) or raises_itself(failing, source)
        if self._checks:
            self._traits = rests_on(failing, source, frozenset())
        self.controls.settle(source, MISMATCH if self._checks else kind, self._run_controls, limit)
        if self._checks and kind != MISMATCH and self.controls.chosen == ():
            self.controls.settle(source, kind, self._run_controls, limit)

    def first_run(self, source: str, limit: float) -> Execution:
        """A run of ``source`` that fails the same, where there is one."""
        if self.flake is not None:
            found = self.flake.failing(source, RUN, lambda run: self._same(run, source), limit)
            if found is not None:
                return found
        [execution] = self._run([Job(source, RUN, limit, alone=True)])
        return execution

    def flaky(self, guess: Rate) -> Flake:
        """What judges a failure that comes in about ``guess`` of the runs."""
        return Flake(self._run, self._judged, self._limit, guess)

    def refuse(self, source: str, reason: str) -> None:
        """Let ``source`` never be interesting again."""
        self._verdicts[_digest(source)] = Verdict(Outcome.FLAKY, "", reason)

    def _run_controls(self, jobs: Sequence[Job]) -> list[Execution]:
        if self.flake is None:
            return self._run(jobs)
        return self.flake.worst(jobs, lambda run: run.status == OK)

    def also_found(self) -> tuple[AlsoFound, ...]:
        """The smallest program of every other failure, in the order in which they were met."""
        return tuple(self._also.values())

    def _refusal(self, source: str) -> str:
        if self._keep is not None and not self._keep.search(source):
            return "--keep does not match"
        return refusal(source, self.warm_modules, self.base_modules)

    def confirm(self, source: str, strategy: str) -> bool:
        """Whether ``source`` is interesting, alone and with its control.

        Raises:
            BudgetSpent: the time is up.
        """
        self._check_clock()
        key = _digest(source)
        known = self._verdicts.get(key)
        if key in self._confirmed or (known is not None and not known.interesting):
            return known is not None and known.interesting
        verdict = Verdict(Outcome.INVALID, reason=self._refusal(source))
        if not verdict.reason:
            again = known is None or key not in self._alone
            verdict = self._query_alone(source, run=again) if self.flake is None else self._query_flaky(source)
        if verdict.interesting and self.fresh is not None and not self.fresh(source):
            verdict = Verdict(Outcome.UNRESOLVED, reason="a fresh interpreter does not show it")
        self._verdicts[key] = verdict
        self._confirmed.add(key)
        (self._doubted.add if verdict.control else self._doubted.discard)(strategy)
        if not verdict.interesting:
            self._outcomes[verdict.outcome.value] += 1
        self._progress.query(self.counts, strategy)
        return verdict.interesting

    def _query(self, sources: Sequence[str], alone: bool, doubted: bool) -> list[Verdict]:
        if self.flake is not None:
            verdicts = self.flake.screen(sources, alone)
            for source, verdict in zip(sources, verdicts):
                if verdict.outcome is Outcome.SLIPPED and verdict.label:
                    self._keep_slip(verdict.label, source)
            return verdicts
        if not self._control_is_cheap():
            verdicts = self._run_and_judge(sources, alone)
            hits = [source for source, verdict in zip(sources, verdicts) if verdict.interesting] if doubted else []
            ill = {source: verdict for source, verdict in self._healthy(hits).items() if not verdict.interesting}
            return [ill.get(source, verdict) for source, verdict in zip(sources, verdicts)]
        healthy = self._healthy(sources)
        asked = [source for source in sources if healthy[source].interesting]
        found = healthy | dict(zip(asked, self._run_and_judge(asked, alone)))
        return [found[source] for source in sources]

    def _control_is_cheap(self) -> bool:
        """Whether it pays to ask the controls first: what a compiler takes seconds for, they run as it is."""
        here = any(control.python is None for control in self.controls.chosen or ())
        return here and self._seconds > SLOW and self.controls.seconds < CHEAP * self._seconds

    def _healthy(self, sources: Sequence[str]) -> dict[str, Verdict]:
        """For each of ``sources``, whether it passes the target's own controls."""
        limit = self._limit(self.controls.seconds)
        verdicts = dict.fromkeys(sources, Verdict(Outcome.INTERESTING))
        jobs = [(source, job) for source in sources for job in self.controls.jobs(source, limit)]
        jobs = [(source, job) for source, job in jobs if _digest(source) not in self._passed]
        for (source, _), execution in zip(jobs, self._run([job for _, job in jobs])):
            if verdicts[source].interesting:
                verdicts[source] = held(execution, verdicts[source])
        self._passed.update(_digest(source) for source, verdict in verdicts.items() if verdict.interesting)
        return verdicts

    def _run_and_judge(self, sources: Sequence[str], alone: bool) -> list[Verdict]:
        alone = alone or self._seconds > SLOW  # a fork costs little then, and what is adopted need not run again
        executions = self._run([Job(source, RUN, self._limit(), alone) for source in sources])
        verdicts = [self._judged(execution, source) for source, execution in zip(sources, executions)]
        for source, execution, verdict in zip(sources, executions, verdicts):
            if alone:
                self._alone[_digest(source)] = execution.drew
            if verdict.outcome is Outcome.SLIPPED and verdict.label:
                self._keep_slip(verdict.label, source)
            if execution.status == LOST:
                self._progress.note(f"a query was lost: {execution.detail}")
        return verdicts

    def _query_alone(self, source: str, run: bool) -> Verdict:
        """Judge one text in a process of its own (unless it was) and its control in another, side by side."""
        seeds = self.seeds if run else self.seeds[1:]
        jobs = [Job(source, RUN, self._limit() + SLACK, alone=True, seed=seed) for seed in seeds]
        limit = self._limit(self.controls.seconds)
        jobs += self.controls.jobs(source, limit) if _digest(source) not in self._passed else []
        executions = [self._once_more(job, execution) for job, execution in zip(jobs, self._run(jobs))]
        verdict = Verdict(Outcome.INTERESTING)
        for execution in executions[: len(seeds)]:
            judged = self._judged(execution, source)
            if not judged.interesting:
                return judged if judged.outcome is not Outcome.PASSED or len(seeds) == 1 else Verdict(Outcome.FLAKY)
            verdict = judged
        slowest = 0.0
        for execution in chain(executions[len(seeds) :], self._runs_elsewhere(source, limit)):
            verdict, slowest = held(execution, verdict), max(slowest, execution.seconds)
            if not verdict.interesting:
                break
        drew = executions[0].drew if run else self._alone[_digest(source)]
        if verdict.interesting and drew and len(self.seeds) == 1 and self._numbers_matter(source):
            seeds = _seeds_of(source)[: 1 if self._seconds > SLOW else None]
            verdict = verdict if self._holds_with(source, seeds) else Verdict(Outcome.FLAKY)
        if verdict.interesting:
            if run:
                self._seconds = executions[0].seconds
            self._passed.add(_digest(source))
            self.controls.seconds = slowest or self.controls.seconds
        return verdict

    def _once_more(self, job: Job, execution: Execution) -> Execution:
        """``execution``; where its time was up and no hang is looked for, that of a run with nothing beside it."""
        if execution.status != TIMEOUT or (job.mode == RUN and self.oracle.signature.kind == HANG):
            return execution
        return self._run([job])[0]

    def _query_flaky(self, source: str) -> Verdict:
        """Judge one text by its rate, then its controls, each as often as it takes to see a failure."""
        assert self.flake is not None
        verdict, counted = self.flake.holds(source)
        if not verdict.interesting or counted.failing is None:
            return verdict
        limit = self._limit(self.controls.seconds)
        runs = self._run_controls(self.controls.jobs(source, limit))
        for execution in chain(runs, self._runs_elsewhere(source, limit)):
            verdict = held(execution, verdict)
            if not verdict.interesting:
                break
        if verdict.interesting:
            self._seconds = counted.failing.seconds
            self._rates[_digest(source)] = counted.rate
        return verdict

    def _holds_with(self, source: str, seeds: Sequence[int]) -> bool:
        """Whether ``source`` fails the same with each of ``seeds``, and passes its controls: a number that was drawn
        once is no reference."""
        if not all(self.fails_with(source, seeds)):
            return False
        jobs = self.controls.jobs(source, self._limit(self.controls.seconds))
        runs = self._run([replace(job, seed=seed) for seed in seeds for job in jobs])
        return all(held(run, Verdict(Outcome.INTERESTING)).interesting for run in runs)

    def _numbers_matter(self, source: str) -> bool:
        """Whether a failure hangs on values, and those on the harness's seed alone."""
        return self._checks and "seed(" not in source

    def _run(self, jobs: Sequence[Job]) -> list[Execution]:
        known = self.pool.recalled
        executions = self.pool.run(jobs) if jobs else []
        self._count(len(jobs) - (self.pool.recalled - known), self.pool.recalled - known)
        return executions

    def _runs_elsewhere(self, source: str, limit: float) -> Iterator[Execution]:
        for execution in self.controls.runs_elsewhere(source, limit):
            self._count(1)
            yield execution

    def _count(self, run: int, resumed: int = 0) -> None:
        self.counts = replace(self.counts, run=self.counts.run + run, resumed=self.counts.resumed + resumed)

    def _limit(self, seconds: float | None = None) -> float:
        if self._timeout is not None:
            return self._timeout
        return min(SLOWEST, PATIENCE * (self._seconds if seconds is None else seconds) + SLACK)

    def calibrate(self, seconds: float) -> None:
        """Set what the current program's run takes, in seconds on a warm worker."""
        self._seconds = seconds
        self.controls.seconds = max(FIRST_SECONDS, 2 * seconds)

    def _keep_slip(self, label: str, source: str) -> None:
        bug = label.split(", under ")[0]  # the levels above a failure make no other bug of it
        known = self._also.get(bug)
        if known is None or len(source) < len(known.source):
            self._also[bug] = AlsoFound(label, source)

    def _check_clock(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise BudgetSpent


def _seeds_of(source: str) -> tuple[int, int]:
    """Two seeds that differ from program to program, so that luck with some does not last."""
    digest = _digest(source)
    return int.from_bytes(digest[:2], "big"), int.from_bytes(digest[2:4], "big")


def _digest(source: str) -> bytes:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()

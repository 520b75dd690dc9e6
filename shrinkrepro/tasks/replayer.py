"""Runs cases on one target and says what became of each.

Decision: the first run of a case is one fork of a warm server. Only what is not as expected costs more: other seeds,
and a fresh interpreter, before anything is told. So a corpus in which nothing has happened is cheap, and nothing is
told that only a warm server shows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from shrinkrepro.core.devices import on_device
from shrinkrepro.core.local_modules import imported_names
from shrinkrepro.corpus.case import CHANGED, ERROR, FLAKY, UNSUPPORTED, Case, CaseError, Expectation
from shrinkrepro.oracles.faces import Faces
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import CRASH
from shrinkrepro.protocol import OK, RUN, TIMEOUT, Execution, Job
from shrinkrepro.tasks.case_signature import oracle_of
from shrinkrepro.tasks.status import Status, status_of
from shrinkrepro.workers import scratch as scratches
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.pool import Pool, TargetInfo, default_jobs
from shrinkrepro.workers.spawn import SpawnPool
from shrinkrepro.workers.target import Target

TIMEOUT_SECONDS = 60.0  # of one run; compiling on a cold machine takes that long
QUICK_SECONDS = 0.5  # a case that ends within this time is asked with other seeds too
OTHER_SEEDS = (1, 2)
FRESH_RUNS = 3  # where fresh interpreters and servers disagree
_OUTPUT_LINES = 12
_COMPILES = re.compile(r"\bcompile\b|_higher_order_ops|flex_attention")
_COMPILER = "torch._inductor.compile_fx"  # what any of them imports, in seconds, and once is enough
_SERVER = "in a warm server: "


@dataclass(frozen=True)
class Replayed:
    """What became of one case on one target; ``want`` and ``found`` are failures in words, empty for none."""

    name: str
    path: str
    status: str
    expected: str
    as_expected: bool
    want: str = ""
    found: str = ""
    detail: str = ""  # one line
    hint: str = ""
    output: str = ""  # the last lines that it printed
    title: str = ""
    origin: str = ""
    python: str = ""  # the interpreter's path
    version: str = ""  # of Python
    torch: str = ""
    device: str = ""
    seconds: float = 0.0  # of the first run


@dataclass
class _Trial:
    """One case on one device, and its runs so far."""

    case: Case
    device: str
    text: str = ""
    oracle: Oracle | Faces | None = None
    lacks: str = ""  # a requirement of the case that the target does not meet
    fault: str = ""
    warm: list[tuple[Status, Execution]] = field(default_factory=list)
    fresh: list[tuple[Status, Execution]] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return not (self.lacks or self.fault)

    @property
    def crash(self) -> bool:
        return isinstance(self.oracle, Faces) or (self.oracle is not None and self.oracle.signature.kind == CRASH)

    def add(self, runs: list[tuple[Status, Execution]], execution: Execution) -> None:
        assert self.oracle is not None
        runs.append((status_of(execution, self.oracle, self.text), execution))


class Replayer:
    """One target, ready to run cases; a context manager. Not for use by two threads at once."""

    def __init__(
        self,
        cases: Iterable[Case],
        *,
        python: str | None = None,
        jobs: int | None = None,
        timeout: float | None = None,
        preload: Path | None = None,
        isolation: str | None = None,
    ) -> None:
        self.python = python or sys.executable
        self._timeout = timeout
        self._scratch = scratches.make_scratch()  # cases are one file each: nothing stands beside them
        modules = {name for case in cases for name in _imports(case.text)}
        if any(_COMPILES.search(case.text) for case in cases):
            modules.add(_COMPILER)
        self.target = Target(
            python=self.python,
            script_path=self._scratch / "case.py",
            cwd=self._scratch,
            preload=preload.absolute() if preload is not None else None,
            modules=tuple(sorted(modules)),
        )
        kind: Callable[[Target, int], Pool] = SpawnPool if isolation == "spawn" else Pool
        self.jobs = jobs or default_jobs()
        self._pool = kind(self.target, self.jobs)
        self._devices: dict[str, str] = {"cpu": ""}

    def __enter__(self) -> Replayer:
        try:
            self._pool.start()
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
        """Versions of the target."""
        return self._pool.info

    def close(self) -> None:
        """Stop the servers and remove their files."""
        self._pool.close()
        scratches.remove(self._scratch)

    def replay(self, cases: Sequence[Case], device: str | None = None) -> list[Replayed]:
        """Run ``cases``, on ``device`` in the place of their own, and say what became of each, in their order."""
        trials = [self._trial(case, device or case.device) for case in cases]
        running = [trial for trial in trials if trial.open]
        self._run(running, (None,))
        self._ask_luck([trial for trial in running if _quick(trial)])
        self._look_closer([trial for trial in running if not self._settled(trial)])
        return [self._replayed(trial) for trial in trials]

    def plain_seconds(self, case: Case) -> float:
        """What ``python case.py`` takes, in seconds."""
        return run_fresh(self.target, case.text, self._limit(case)).seconds

    def _trial(self, case: Case, device: str) -> _Trial:
        trial = _Trial(case, device, case.text)
        try:
            trial.oracle = oracle_of(case)
            if device != case.device:
                trial.text = on_device(case.text, device)
        except CaseError as error:
            trial.fault = error.message
        except SyntaxError as error:
            trial.fault = f"{case.path} has a syntax error in line {error.lineno}: {error.msg}"
        trial.lacks = case.lacks(self.info.python, self.info.torch) or self._no_device(device)
        return trial

    def _no_device(self, device: str) -> str:
        if device not in self._devices:
            probe = f"import torch\ntorch.zeros(1, device={device!r})\n"
            [run] = self._pool.run([Job(probe, RUN, TIMEOUT_SECONDS, alone=True)])
            self._devices[device] = "" if run.status == OK else f"this target has no device {device}"
        return self._devices[device]

    def _ask_luck(self, trials: Sequence[_Trial]) -> None:
        """Other seeds, many in one child; what then ends otherwise is asked again in a child of its own."""
        pairs = [(trial, seed) for seed in OTHER_SEEDS for trial in trials]
        jobs = [Job(trial.text, RUN, self._limit(trial.case), seed=seed) for trial, seed in pairs]
        doubtful: dict[int | None, list[_Trial]] = {}
        for (trial, seed), execution in zip(pairs, self._pool.run(jobs) if jobs else ()):
            assert trial.oracle is not None
            if status_of(execution, trial.oracle, trial.text).word != trial.warm[0][0].word:
                doubtful.setdefault(seed, []).append(trial)
        for other, those in doubtful.items():
            self._run(those, (other,))

    def _run(self, trials: Sequence[_Trial], seeds: Sequence[int | None]) -> None:
        pairs = [(trial, seed) for trial in trials for seed in seeds]
        jobs = [Job(trial.text, RUN, self._limit(trial.case), alone=True, seed=seed) for trial, seed in pairs]
        for (trial, _), execution in zip(pairs, self._pool.run(jobs) if jobs else ()):
            trial.add(trial.warm, execution)

    def _limit(self, case: Case) -> float:
        return self._timeout or case.timeout or TIMEOUT_SECONDS

    def _settled(self, trial: _Trial) -> bool:
        return all(_meets(self._expectation(trial), status) for status, _ in trial.warm)

    def _expectation(self, trial: _Trial) -> Expectation:
        return trial.case.expectation(self.info.torch, trial.device)

    def _look_closer(self, trials: Sequence[_Trial]) -> None:
        """Other seeds for slow cases, then fresh interpreters: one for each, more where it says something else."""
        slow = [trial for trial in trials if len(trial.warm) == 1 and not trial.crash]
        self._run([trial for trial in slow if trial.warm[0][1].status != TIMEOUT], OTHER_SEEDS)
        with ThreadPoolExecutor(self.jobs) as threads:
            list(threads.map(self._run_fresh, trials))

    def _run_fresh(self, trial: _Trial) -> None:
        for _ in range(FRESH_RUNS):
            trial.add(trial.fresh, run_fresh(self.target, trial.text, self._limit(trial.case)))
            warm = {status.word for status, _ in trial.warm}
            if warm == {status.word for status, _ in trial.fresh} or (len(warm) > 1 and not trial.crash):
                return
            if trial.crash and _meets(self._expectation(trial), trial.fresh[0][0]):
                return  # only a server's memory is laid out otherwise

    def _replayed(self, trial: _Trial) -> Replayed:
        case, info = trial.case, self.info
        expected = self._expectation(trial)
        base = Replayed(
            name=case.name,
            path=str(case.path),
            status=ERROR,
            expected=expected.status,
            as_expected=False,
            want=case.failure,
            title=case.title,
            origin=case.origin,
            python=self.python,
            version=info.python,
            torch=info.torch,
            device=trial.device,
        )
        if trial.fault:
            return replace(base, detail=trial.fault)
        if trial.lacks:  # as the case itself says
            return replace(base, status=UNSUPPORTED, as_expected=True, detail=trial.lacks)
        status, execution = _verdict(trial)
        return replace(
            base,
            status=status.word,
            as_expected=_meets(expected, status),
            found=status.failure,
            detail=status.detail,
            output=_last_lines(execution),
            seconds=trial.warm[0][1].seconds,
        )


def _meets(expected: Expectation, status: Status) -> bool:
    if status.word != expected.status:
        return False
    return status.word != CHANGED or not expected.failure or expected.failure == status.failure


def _quick(trial: _Trial) -> bool:
    return not trial.crash and trial.warm[0][1].seconds < QUICK_SECONDS


def _verdict(trial: _Trial) -> tuple[Status, Execution]:
    """What all runs of a trial come to. A crash hangs on a process's memory: there fresh interpreters decide."""
    warm, fresh = {s.word for s, _ in trial.warm}, {s.word for s, _ in trial.fresh}
    if len(warm | fresh) == 1:
        return (trial.fresh or trial.warm)[0]
    if len(fresh) == 1 and (len(warm) == 1 or trial.crash):
        status, execution = trial.fresh[0]
        others = ", ".join(sorted(warm - fresh))
        return replace(status, detail="; ".join(filter(None, (status.detail, f"{_SERVER}{others}")))), execution
    runs = [*trial.warm, *trial.fresh]
    words = [status.word for status, _ in runs]
    told = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    failing = sorted((run for run in runs if run[0].failure), key=lambda run: run[0].word != CHANGED)
    other = failing[0] if failing else runs[-1]
    return Status(FLAKY, other[0].failure, f"of {len(runs)} runs: {told}"), other[1]


def _imports(text: str) -> set[str]:
    try:
        return imported_names(text)
    except (SyntaxError, ValueError):
        return set()


def _last_lines(execution: Execution) -> str:
    text = execution.stderr.strip() or execution.stdout.strip()
    return "\n".join(text.splitlines()[-_OUTPUT_LINES:])

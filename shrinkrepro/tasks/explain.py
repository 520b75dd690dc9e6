"""The task behind ``shrinkrepro explain``: the neighbours of a failing program are run, and what came of each is told.

Decision: no neighbour is told of that was not run, and none that was no program: what another operator or tensor is not
called like says nothing of the bug. Quick ones are all asked, those that take a compiler as long as all
of it takes no more than five fresh runs of the program; the others are listed as not asked. The nearest neighbour that
passes is run in a fresh interpreter too.
"""

from __future__ import annotations

import difflib
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from shrinkrepro.core.program import token_starts
from shrinkrepro.corpus.case import FAILS, FIXED
from shrinkrepro.oracles.signature import CRASH, EXCEPTION, MISMATCH, Signature, culprit, signature_of
from shrinkrepro.protocol import LOST, OK, RUN, TIMEOUT, Execution, Job
from shrinkrepro.session import Progress
from shrinkrepro.tasks.compared_values import SEPARATOR, printing
from shrinkrepro.tasks.neighbour_text import Neighbour
from shrinkrepro.tasks.neighbours import GROUPS, neighbours
from shrinkrepro.tasks.status import status_of
from shrinkrepro.tasks.subject import Subject, subject
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.pool import Pool

PASSES = "passes"
SAME = "fails the same"
OTHERWISE = "fails otherwise"
UNSETTLED = "not settled"  # timed out, or its worker was lost

FRESH_RUNS = 5  # of the program, that all of it may take
_QUICK = 1.0  # seconds of a warm run, below which all neighbours are asked that compile nothing: it takes a second
_SPARE = 2.5  # fresh runs, for the one at the end, what surrounds it, and a machine that is slower then
_RUN_SECONDS = 10.0  # of one neighbour; one that compiles gets what is left
_LOOKS = 3  # runs of each neighbour of a crash
_OTHER_LEVELS = ("transforms", "reference", "compile")  # directions in which the levels above the failure are exchanged
_CONFIRMED = 2  # passing neighbours that are run fresh until one holds
_MISCALLED = re.compile(
    r"received an invalid combination of arguments|unexpected keyword argument|positional argument|"
    r"missing \d+ required|multiple values for (?:keyword )?argument|argument '?\w+'? .*must be|is not defined"
)
_PROBE = """\
import shutil, torch
found = ["cpu"]
if torch.cuda.is_available():
    found.append("cuda")
if getattr(getattr(torch, "xpu", None), "is_available", bool)():
    found.append("xpu")
if getattr(getattr(torch.backends, "mps", None), "is_available", bool)():
    found.append("mps")
print("devices:", *found)
print("compiler:", shutil.which("c++") or shutil.which("g++") or shutil.which("clang++") or "")
"""


@dataclass(frozen=True)
class Row:
    """One neighbour and what came of it. ``detail`` is the other failure in words; ``source`` is what was run."""

    group: str
    title: str
    outcome: str
    detail: str
    source: str
    seconds: float = 0.0


@dataclass(frozen=True)
class ExplainResult:
    """The neighbourhood of a program. Times in seconds of wall time."""

    name: str
    source: str
    failure: str  # in words
    torch: str
    python: str  # its version
    rows: tuple[Row, ...]  # by direction, in the order of ``GROUPS``
    nearest: Row | None  # the nearest one that passes, in a fresh interpreter too
    not_asked: tuple[str, ...] = ()  # "group: title" of what the time did not reach
    findings: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    fresh_seconds: float = 0.0  # of one fresh run of the program
    seconds: float = 0.0
    values: tuple[str, str] | None = None  # of a failed check: the two values that it compares

    @property
    def diff(self) -> str:
        """From the program to its nearest passing neighbour, as a unified diff; empty when there is none."""
        if self.nearest is None:
            return ""
        lines = difflib.unified_diff(
            self.source.splitlines(), self.nearest.source.splitlines(), "fails", "passes", lineterm=""
        )
        return "\n".join(lines)


@dataclass
class _Asked:
    """What was run so far, and until when more may be."""

    deadline: float
    rows: list[Row] = field(default_factory=list)
    left: list[Neighbour] = field(default_factory=list)


def explain(
    path: Path,
    progress: Progress,
    *,
    python: str | None = None,
    timeout: float | None = None,
    preload: Path | None = None,
    jobs: int | None = None,
) -> ExplainResult:
    """Run the neighbourhood of the case or program in ``path``.

    Raises:
        ShrinkReproError: it cannot be read, does not fail the same, or cannot be run.
    """
    with subject(path, python=python, timeout=timeout, preload=preload, jobs=jobs, progress=progress) as found:
        return explained(found, progress, jobs)


def explained(of: Subject, progress: Progress, jobs: int | None = None) -> ExplainResult:
    """The neighbourhood of ``of``, which was just run fresh."""
    started = time.monotonic() - of.fresh.seconds
    asked = _Asked(started + FRESH_RUNS * of.fresh.seconds)
    progress.phase("starting warm servers for its neighbours")
    kind = of.oracle.signature.kind
    findings: list[str] = []
    values = None
    with Pool(of.target, jobs or 1) as pool:  # a second server takes longer to start than it saves
        probe, base = pool.run([Job(_PROBE, RUN, of.limit, alone=True), Job(of.text, RUN, of.limit, alone=True)])
        devices, compiler = _probed(probe)
        made: list[Neighbour] = []
        if of.fails_the_same(base, of.text):
            made = neighbours(
                of.text,
                checked=kind == MISMATCH,
                device=of.case.device if of.case is not None else "cpu",
                devices=devices,
                compiler=compiler,
            )
        else:
            findings.append("in a warm server the program fails otherwise, so no neighbour was asked")
        progress.phase(f"running {len(made)} neighbours")
        _ask(of, pool, made, base.seconds, asked)
        if kind == MISMATCH:
            values = _values(of, pool)
        info = pool.info
    rows = tuple(sorted(asked.rows, key=lambda row: GROUPS.index(row.group)))
    rows, nearest = _nearest(of, rows, progress)
    return ExplainResult(
        name=of.path.stem,
        source=of.text,
        failure=of.oracle.signature.describe(),
        torch=info.torch,
        python=info.python,
        rows=rows,
        nearest=nearest,
        not_asked=tuple(f"{one.group}: {one.title}" for one in asked.left),
        findings=tuple(findings),
        devices=devices,
        fresh_seconds=of.fresh.seconds,
        seconds=time.monotonic() - started,
        values=values,
    )


def _ask(of: Subject, pool: Pool, made: Sequence[Neighbour], seconds: float, asked: _Asked) -> None:
    """Run what the time allows: the quick ones together, those that compile one by one."""
    quick = [one for one in made if not one.slow and "compile" not in one.source]
    slow = _by_turns([one for one in made if one not in quick])
    spare = _SPARE * of.fresh.seconds
    width = 4 * pool.jobs if seconds > _QUICK else max(1, len(quick))
    while quick and (seconds < _QUICK or time.monotonic() + spare < asked.deadline):
        group, quick = quick[:width], quick[width:]
        _run(of, pool, group, min(_RUN_SECONDS, max(1.0, 20 * seconds)), asked)
    while slow and time.monotonic() + spare < asked.deadline:
        one, slow = slow[0], slow[1:]
        left = asked.deadline - spare - time.monotonic()
        before = len(asked.rows)
        _run(of, pool, [one], max(1.0, left), asked)
        if (
            len(asked.rows) > before and asked.rows[before].outcome == UNSETTLED
        ):  # its time was cut short, which says nothing of it
            asked.rows.pop()
            slow.insert(0, one)
            break
    asked.left.extend([*quick, *slow])


def _by_turns(found: Sequence[Neighbour]) -> list[Neighbour]:
    """One of each direction before the second of any, for the time may end before they do."""
    seen: Counter[str] = Counter()
    ranked = []
    for one in found:
        ranked.append((seen[one.group], one))
        seen[one.group] += 1
    return [one for _, one in sorted(ranked, key=lambda pair: pair[0])]


def _run(of: Subject, pool: Pool, group: Sequence[Neighbour], limit: float, asked: _Asked) -> None:
    times = _LOOKS if of.oracle.signature.kind == CRASH and not any(one.slow for one in group) else 1
    runs = pool.run([Job(one.source, RUN, limit, alone=True) for one in group for _ in range(times)])
    for i, one in enumerate(group):
        mine = runs[i * times : (i + 1) * times]
        run = next((run for run in mine if run.status != OK), mine[0])  # memory may hide a crash
        outcome, detail = _outcome(of, run, one)
        if outcome == OTHERWISE and _ill_formed(run):
            continue
        asked.rows.append(Row(one.group, one.title, outcome, detail, one.source, run.seconds))


def _outcome(of: Subject, run: Execution, one: Neighbour) -> tuple[str, str]:
    status = status_of(run, of.oracle, one.source)
    if status.word == FAILS or (
        one.group in _OTHER_LEVELS and _crashed_elsewhere(of.oracle.signature, signature_of(run))
    ):
        return SAME, ""
    if run.status in (LOST, TIMEOUT):
        return UNSETTLED, "its worker was lost" if run.status == LOST else "it did not end in its time"
    if status.word == FIXED:
        return PASSES, ""
    return OTHERWISE, _described(run) or status.failure or status.detail


def _crashed_elsewhere(mine: Signature, its: Signature | None) -> bool:
    """Whether it is the same crash under other transforms, which were what was exchanged. (An exception of the same
    words may well be another bug there.)"""
    if its is None or mine.kind != CRASH:
        return False
    return replace(its, levels=(), crash_frames=()) == replace(mine, levels=(), crash_frames=())


def _described(run: Execution) -> str:
    """The failure of ``run`` in words, with its numbers and names, which a signature has not."""
    found = signature_of(run)
    if found is None or found.kind != EXCEPTION or not found.sentence:
        return ""
    message = run.chain[culprit(run.chain)].message.strip().partition("\n")[0]
    return replace(found, sentence=message.rstrip(".")).describe()


def _ill_formed(run: Execution) -> bool:
    """Whether it was how something is called that was refused: the exchange made no program of it."""
    return (
        bool(run.chain)
        and run.chain[-1].type in ("TypeError", "NameError")
        and bool(_MISCALLED.search(run.chain[-1].message))
    )


def _nearest(of: Subject, rows: tuple[Row, ...], progress: Progress) -> tuple[tuple[Row, ...], Row | None]:
    """The passing neighbour with the fewest other tokens that passes fresh too; what does not is told as unsettled."""
    passing = sorted((row for row in rows if row.outcome == PASSES), key=lambda row: _distance(of.text, row.source))
    if passing:
        progress.phase("running the nearest passing neighbour in a fresh interpreter")
    for row in passing[:_CONFIRMED]:
        if run_fresh(of.target, row.source, of.limit).status == OK:
            return rows, row
        other = replace(row, outcome=UNSETTLED, detail="it passes in a warm server only")
        rows = tuple(other if one is row else one for one in rows)
    return rows, None


def _distance(source: str, other: str) -> tuple[int, int]:
    """Tokens that differ, and how many more the other has."""
    mine, its = _tokens(source), _tokens(other)
    blocks = difflib.SequenceMatcher(None, mine, its, autojunk=False).get_opcodes()
    changed = sum(max(b - a, d - c) for tag, a, b, c, d in blocks if tag != "equal")
    return changed, len(its) - len(mine)


def _tokens(source: str) -> list[str]:
    lines = source.split("\n")
    starts = token_starts(source)
    found = []
    for (line, column), (next_line, next_column) in zip(starts, [*starts[1:], (len(lines), len(lines[-1]))]):
        text = lines[line - 1]
        found.append((text[column:next_column] if next_line == line else text[column:]).strip())
    return found


def _probed(probe: Execution) -> tuple[tuple[str, ...], bool]:
    devices: tuple[str, ...] = ("cpu",)
    compiler = False
    for line in probe.stdout.splitlines():
        if line.startswith("devices:"):
            devices = tuple(line.split()[1:]) or devices
        elif line.startswith("compiler:"):
            compiler = bool(line.removeprefix("compiler:").strip())
    return devices, compiler


def _values(of: Subject, pool: Pool) -> tuple[str, str] | None:
    """The two values that the failing check compares, as the program prints them in the check's place."""
    source = printing(of.text)
    if source is None:
        return None
    [run] = pool.run([Job(source, RUN, of.limit, alone=True)])
    got, mark, want = run.stdout.partition(f"{SEPARATOR}\n")
    return (got.strip(), want.strip()) if run.status == OK and mark else None

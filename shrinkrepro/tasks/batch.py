"""The task behind ``shrinkrepro batch``: many failing scripts become the few bugs behind them.

Decision: the driver knows what is to be done and never does it: workers check, reduce and make cases, wherever an
executor has them, and every event goes to the disk before the next one is heard. So the driver may be killed at any
moment, and what it finds follows from the records alone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shrinkrepro.tasks.batch_check import Checked
from shrinkrepro.tasks.batch_findings import Findings, slug
from shrinkrepro.tasks.batch_groups import key_of
from shrinkrepro.tasks.batch_request import (
    BatchProgress,
    BatchRequest,
    BatchResult,
    Group,
)
from shrinkrepro.tasks.batch_scripts import BatchScript, find_scripts
from shrinkrepro.tasks.batch_state import CHECKED, REDUCED, REFUSED, Record, Store
from shrinkrepro.tasks.batch_worker import CASE, CHECK, REDUCE, WORKER
from shrinkrepro.workers.executor import ACCEPTED, DONE, ENDS, FAILED, NOTE, STARTED, Event, Executor, Work

LEAST_SECONDS = 5.0  # of the total budget that are worth beginning a reduction for
NOTES_KEPT = 20  # of one script


@dataclass
class _Batch:
    """The scripts of a run with their records, and what is under way."""

    request: BatchRequest
    options: Mapping[str, Any]
    store: Store
    progress: BatchProgress
    scripts: dict[str, BatchScript]
    records: dict[str, Record]
    started: float = field(default_factory=time.monotonic)
    begun: dict[str, float] = field(default_factory=dict)  # when a work's worker began with it
    notes: list[str] = field(default_factory=list)
    spent: bool = False  # the total budget

    @property
    def findings(self) -> Findings:
        """What is known so far."""
        return Findings(self.scripts, self.records)

    def left(self) -> float:
        """Seconds of the total budget."""
        total = self.request.total_budget
        return float("inf") if total is None else total - (time.monotonic() - self.started)

    def work(self, kind: str, name: str) -> Work:
        script, record = self.scripts[name], self.records[name]
        options = {**self.options, "args": list(script.args)}
        if kind == REDUCE:
            options["budget"] = min(self.request.script_budget, self.left())
        start = record.accepted if kind == REDUCE else ""
        return Work(f"{kind} {name}", kind, script.file, dict(script.sources), script.folder, options, start)


def batch(request: BatchRequest, progress: BatchProgress) -> BatchResult:
    """Check, group and reduce what ``request`` names; the folder of the batch has the records and the cases then.

    Raises:
        UsageError: the request cannot work, or its folder cannot be written to.
    """
    started = time.monotonic()
    options = request.options()
    scripts = find_scripts(request.paths, request.lists, request.out)
    with Store(request.out) as store:
        records = {script.name: _record(script, options, store, request.fresh) for script in scripts}
        resumed = sum(record.status != "waiting" for record in records.values())
        if resumed:
            progress.note(f"resumed: {resumed} of {len(records)} scripts were looked at before")
        run = _Batch(request, options, store, progress, {one.name: one for one in scripts}, records, started)
        ended = "done"
        try:
            with request.placement.workers(WORKER, request.python) as executor:
                _check(run, executor)
                _reduce(run, executor)
                _cases(run, executor, run.findings.groups())
        except KeyboardInterrupt:
            ended = "interrupted"
        groups = run.findings.groups()
        _write_cases(run, groups)
        if run.spent and ended == "done":
            ended = "budget"
        return _result(run, groups, ended, resumed)


def _record(script: BatchScript, options: Mapping[str, Any], store: Store, fresh: bool) -> Record:
    digest = script.digest(options)
    record = Record(script.name, digest) if fresh else store.load(script.name, digest)
    record.tokens = script.tokens
    if record.error == "lost":
        record.why = record.hint = record.error = ""  # no fault of the script: it is tried again
    if record.reduction is not None and record.reduction["cut"]:
        record.status, record.accepted = CHECKED, record.reduction["text"]  # there is time for the rest of it now
        record.reduction = record.case = None
    if script.fault:
        record.status, record.why, record.hint, record.error = REFUSED, script.fault, script.hint, "UsageError"
    return record


def _check(run: _Batch, executor: Executor) -> None:
    names = [name for name, record in run.records.items() if record.status == "waiting"]
    run.progress.stage("checking", len(names))

    def ended(name: str, event: Event) -> None:
        record = run.records[name]
        if event.kind == DONE:
            record.status, record.checked = CHECKED, dict(event.data)
            record.tokens = int(event.data["tokens"])
            record.key = key_of(Checked.of(dict(event.data)), run.scripts[name].text)
        else:
            _refuse(record, event)
        run.store.save(record)
        run.progress.ended(name, record.why or "fails: " + str(event.data.get("signature", "")))
        run.progress.groups(run.findings.overview())

    _go(run, executor, CHECK, names, ended)


def _reduce(run: _Batch, executor: Executor) -> None:
    queues = run.findings.chosen()
    wanted = {key: _wanted(run, len(names)) for key, names in queues.items()}
    first = [name for key, names in queues.items() for name in _next(run, names, wanted[key])]
    run.progress.stage("reducing", len(first))
    home = {name: key for key, names in queues.items() for name in names}
    given = set(first)

    def ended(name: str, event: Event) -> list[str]:
        record = run.records[name]
        if event.kind == DONE:
            cut = event.data["ended"] == "budget" and run.left() < LEAST_SECONDS
            record.status, record.reduction, record.accepted = REDUCED, {**event.data, "cut": cut}, ""
            run.spent |= cut
        else:
            record.why, record.hint = str(event.data["message"]), str(event.data["hint"])
            record.error = str(event.data.get("error", "lost"))
        run.store.save(record)
        tokens = record.reduction["tokens_after"] if record.reduction else 0
        run.progress.ended(name, record.why or f"{record.tokens} -> {tokens} tokens")
        run.progress.groups(run.findings.overview())
        key = home[name]
        more = [one for one in _next(run, queues[key], wanted[key]) if one not in given]
        given.update(more)
        return more  # of the same group, where this one could not be reduced

    _go(run, executor, REDUCE, first, ended)


def _cases(run: _Batch, executor: Executor, groups: Sequence[Group]) -> None:
    """Let the smallest result of each group be made a case."""
    names = [name for group in groups if (name := run.findings.best(group.reduced)) and run.records[name].case is None]
    run.progress.stage("writing cases", len(names))

    def ended(name: str, event: Event) -> None:
        record = run.records[name]
        data = event.data
        record.case = dict(data) if event.kind == DONE else {"text": "", "title": "", "failure": data["message"]}
        run.store.save(record)
        run.progress.ended(name, "case" if event.kind == DONE else str(data["message"]))

    titles = {name: group.blame for group in groups for name in group.reduced}

    def work(name: str) -> Work:
        record = run.records[name]
        assert record.reduction is not None
        sizes = {
            "original": name,
            "tokens-before": record.reduction["tokens_before"],
            "tokens-after": record.reduction["tokens_after"],
            "queries": record.reduction["counts"]["run"],
        }
        file = f"{slug(name)}.py"
        confirmed = record.reduction["confirmed"] == record.reduction["confirmations"]
        options = {**run.options, "reduction": sizes, "title": titles[name], "confirmed": confirmed}
        return Work(f"{CASE} {name}", CASE, file, {file: record.reduction["text"]}, "", options)

    _go(run, executor, CASE, names, ended, work)


def _go(
    run: _Batch,
    executor: Executor,
    kind: str,
    names: Iterable[str],
    ended: Callable[[str, Event], Iterable[str] | None],
    make: Callable[[str], Work] | None = None,
) -> None:
    """Do ``kind`` with ``names``, in their order, no more at a time than there are workers: budgets are given late.

    ``ended`` hears the end of each, and may give more names.
    """
    waiting = list(names)

    def hand_out() -> None:
        if not waiting:
            return
        if kind != CASE and run.left() < LEAST_SECONDS:
            run.spent = True
            waiting.clear()
            return
        name = waiting.pop(0)
        executor.submit(make(name) if make is not None else run.work(kind, name))

    for _ in range(executor.slots):
        hand_out()
    for event in executor.events():
        name = event.work.partition(" ")[2]
        if name in run.records:
            _heard(run, kind, name, event)
        elif event.kind == NOTE:
            _note(run, str(event.data["text"]))
        if event.kind in ENDS:
            waiting += ended(name, event) or ()
            hand_out()


def _heard(run: _Batch, kind: str, name: str, event: Event) -> None:
    record = run.records[name]
    if event.kind == STARTED:
        run.begun[name] = time.monotonic()
        run.progress.began(name, str(event.data.get("worker", "")))
    elif event.kind == ACCEPTED and kind == REDUCE:
        record.accepted, record.accepted_tokens = str(event.data["text"]), int(event.data["tokens"])
        run.store.save(record)
        run.progress.smaller(name, record.accepted_tokens)
    elif event.kind == NOTE:
        text = str(event.data["text"])
        if text not in record.notes and not text.startswith("confinement: "):
            record.notes = [*record.notes, text][-NOTES_KEPT:]
    elif event.kind in ENDS:
        spent = time.monotonic() - run.begun.pop(name, time.monotonic())
        record.seconds[kind] = round(record.seconds.get(kind, 0.0) + spent, 3)


def _note(run: _Batch, text: str) -> None:
    if text not in run.notes:
        run.notes.append(text)
        run.progress.note(text)


def _refuse(record: Record, event: Event) -> None:
    record.status = REFUSED
    record.why, record.hint = str(event.data["message"]), str(event.data["hint"])
    record.error = str(event.data.get("error", "lost"))
    if event.kind != FAILED:
        record.status = "waiting"  # no fault of the script: it is tried again by the next run


def _wanted(run: _Batch, members: int) -> int:
    return members if run.request.every else min(members, run.request.per_signature)


def _next(run: _Batch, names: Sequence[str], wanted: int) -> list[str]:
    """Which scripts of a group are to be reduced: as many as are wanted, those that could not be left out."""
    able = [name for name in names if not run.records[name].why]
    return [name for name in able[:wanted] if run.records[name].reduction is None]


def _write_cases(run: _Batch, groups: Sequence[Group]) -> None:
    written = set()
    for group in groups:
        best = run.findings.best(group.reduced)
        if best:
            case = run.records[best].case
            text = case["text"] if case and case["text"] else group.source
            run.store.write(run.store.folder / group.file, text)
            written.add(group.file.rpartition("/")[2])
    with contextlib.suppress(OSError):
        run.store.clean("groups", written)


def _result(run: _Batch, groups: Sequence[Group], ended: str, resumed: int) -> BatchResult:
    spent: dict[str, float] = {}
    for record in run.records.values():
        for kind, seconds in record.seconds.items():
            spent[kind] = round(spent.get(kind, 0.0) + seconds, 3)
    taken = time.monotonic() - run.started
    return BatchResult(
        tuple(groups), run.findings.rows(groups), ended, round(taken, 1), spent, resumed, tuple(run.notes)
    )

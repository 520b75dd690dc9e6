"""Workers on which the original fails as it does in a fresh interpreter, and the oracle that knows it there.

Decision: warm must equal fresh, so two servers run the original before any candidate; where they differ, what the
difference is decides how candidates are judged, and an interpreter for each query is the last resort.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shrinkrepro.errors import (
    TargetError,
)
from shrinkrepro.oracles.faces import Faces, faces
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import CRASH, EXCEPTION, EXIT, MISMATCH, signature_of
from shrinkrepro.protocol import OK, RUN, TIMEOUT, Execution, Job, from_wire, to_wire
from shrinkrepro.session.chance import Likeliest, failing_always, likeliest, pinned_text
from shrinkrepro.session.original import Original, flaky
from shrinkrepro.session.request import Progress, Request
from shrinkrepro.workers.pool import Pool, default_jobs
from shrinkrepro.workers.shelf import Shelf
from shrinkrepro.workers.spawn import SpawnPool


@dataclass(frozen=True)
class Ready:
    """Workers on which the original (with seeds, if it needs them) fails as it does fresh, and the oracle for both."""

    original: Original
    pool: Pool
    oracle: Oracle | Faces
    findings: list[str]


def open_pool(original: Original, request: Request, progress: Progress, shelf: Shelf | None = None) -> Ready:
    """Start workers on which the original fails as it does fresh; ``shelf`` may have warm servers for it.

    Two warm servers run it. Where they differ from the fresh run, a crash is known by all its faces; a failure that
    comes at times, or has other failures beside it, is flaky; one that never comes gets an interpreter for each query.

    Raises:
        TooFlakyError: its runs disagree even so.
        TargetError: no worker can run it.
    """
    limit = request.timeout or max(30.0, 5 * original.fresh.seconds)
    jobs = request.jobs or default_jobs()
    findings: list[str] = []
    if request.isolation != "spawn":
        pool = (shelf.take if shelf is not None else Pool)(original.target, jobs, memory=original.journal)
        try:
            original = _as_before(original, pool, progress)
            runs = _run_warm(original, pool, limit)
            progress.note(f"confinement: {pool.info.confinement}")
        except BaseException:
            pool.close()
            raise
        original = replace(original, oracle=_telling(original, runs))
        if original.flaky is None:
            if _same(original, original.oracle, runs):
                return Ready(original, pool, original.oracle, findings)
            if any(run.status == OK for run in runs):
                text = pinned_text(original.script.text, failing_always(pool, original.oracle, limit))
                if text is not None:
                    pinned = replace(original, script=replace(original.script, text=text), pinned=True)
                    return Ready(pinned, pool, original.oracle, findings)
        several = faces(original.oracle, runs)
        if several is not None:
            names = " or ".join(oracle.signature.describe() for oracle in several.oracles)
            findings.append(f"the bug shows different faces from run to run, and any of them counts: {names}")
            progress.note(findings[-1])
            return Ready(original, pool, several, findings)
        differ = any(run.status == OK for run in runs) or len({signature_of(run) for run in runs}) > 1
        if differ or original.flaky is not None:
            found = likeliest(original.script.text, pool, original.oracle, limit)
            if found.rate.failed:
                return _at_times(original, pool, found, findings, progress)
        pool.close()
        if request.isolation == "fork":
            raise TargetError("the original fails otherwise in a warm server", "leave out --isolation fork")
        findings.append("the failure differs in a warm server, so every query has an interpreter of its own (slower)")
        progress.note(findings[-1])
    spawned = SpawnPool(original.target, jobs, memory=original.journal)
    try:
        spawned.start()
        if request.isolation == "spawn":
            original = _as_before(original, spawned, progress)
        _settle(original, spawned, limit)
    except BaseException:
        spawned.close()
        raise
    return Ready(original, spawned, original.oracle, findings)


def _at_times(original: Original, pool: Pool, found: Likeliest, findings: list[str], progress: Progress) -> Ready:
    """The original judged by the failure that ``found`` is, which may be another than its first run's."""
    told = len(findings)
    if found.run is not None:
        findings.append(
            f"runs fail in several ways; judged by the commonest: {found.oracle.signature.describe()}; "
            f"the first run showed {original.oracle.signature.describe()}"
        )
    if found.oracle.anywhere:
        findings.append("it is raised at several places from run to run, so it is known by its message")
    for finding in findings[told:]:
        progress.note(finding)
    steady = found.rate.failed == found.rate.runs and not found.oracle.anywhere  # a time-out under load is no flake
    known = replace(original, fresh=found.run or original.fresh, oracle=found.oracle)
    return Ready(replace(known, flaky=None if steady else found.rate), pool, found.oracle, findings)


def _as_before(original: Original, pool: Pool, progress: Progress) -> Original:
    """The original as an earlier run of the same command saw it, if its journal still holds; else the journal is empty.

    The search rests on the original's first run, which is never the same twice to the letter.
    """
    journal = original.journal
    if journal is None:
        return original
    question = json.dumps(["original", pool.info.fingerprint, original.script.text])
    ticket, known = journal.recall(question)
    if known is not None:
        fresh = from_wire(known)
        oracle = Oracle.of(fresh, original.oracle.match, original.oracle.exclude)
        if oracle is not None and oracle.judge(original.fresh, original.script.text).interesting:
            verdicts, steps = journal.found
            progress.note(f"resumed: {verdicts} verdicts, {steps} steps")
            return replace(original, fresh=fresh, oracle=oracle)
    if journal.found[0]:
        progress.note(
            "the script fails otherwise than when its journal was begun, or its torch is another: starting anew"
        )
        journal.clear()
        ticket, _ = journal.recall(question)
    journal.keep(ticket, to_wire(original.fresh))
    return original


def _telling(original: Original, runs: Sequence[Execution]) -> Oracle:
    """The oracle of a script that catches its failure and exits: of what was raised, which only a harness sees."""
    oracle = original.oracle
    if oracle.signature.kind != EXIT or not runs:
        return oracle
    seen = Oracle.of(runs[0], oracle.match, oracle.exclude)
    if seen is None or seen.signature.kind not in (EXCEPTION, MISMATCH):
        return oracle
    return replace(seen, shown=oracle.signature)


def _run_warm(original: Original, pool: Pool, limit: float) -> list[Execution]:
    """Run the original in two servers which have loaded all that it imports."""
    twice = [Job(original.script.text, RUN, limit, alone=True)] * 2
    pool.start()
    runs = pool.run(twice)
    if pool.learn():
        runs = pool.run(twice)
    if original.oracle.signature.kind == CRASH or not _same(original, original.oracle, runs):
        runs += pool.run(twice * 2)
    return runs


def _same(original: Original, oracle: Oracle | Faces, runs: Sequence[Execution]) -> bool:
    return all(oracle.judge(run, original.script.text).interesting for run in runs)


def _settle(original: Original, pool: Pool, limit: float) -> None:
    runs = pool.run([Job(original.script.text, RUN, limit, alone=True)] * 4)
    same = sum(_same(original, original.oracle, [run]) for run in runs)
    if same == len(runs):
        return
    if same or any(run.status == OK for run in runs):
        raise flaky(original.script, same + 1, len(runs) + 1)
    other = next((signature_of(run) for run in runs if run.status != TIMEOUT), None)
    raise TargetError(
        "the script fails otherwise under the harness: " + (other.describe() if other is not None else "it timed out"),
        "try --match message or --match type",
    )

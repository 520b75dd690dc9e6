"""The subject of a report: a case, or a reduced program, that was just seen to fail as it should.

Decision: nothing is told of a program that does not fail the same at this moment, in a fresh interpreter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from shrinkrepro.core.local_modules import imported_names
from shrinkrepro.corpus import block
from shrinkrepro.corpus.case import FAILS, Case, CaseError, read
from shrinkrepro.errors import FailsEarlyError, NotFailingError, TargetError, UsageError
from shrinkrepro.oracles.early import before_torch
from shrinkrepro.oracles.faces import Faces
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import Execution
from shrinkrepro.session import Progress, Request
from shrinkrepro.session.original import lacks_torch, libraries, make_target, read_script
from shrinkrepro.tasks.case_signature import oracle_of
from shrinkrepro.tasks.inputs import checked, read_source
from shrinkrepro.tasks.status import status_of
from shrinkrepro.workers import scratch as scratches
from shrinkrepro.workers import target as targets
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.locate import locate
from shrinkrepro.workers.target import Target

SECONDS = 60.0  # of one run when no --timeout is given
_TRIES = 3  # fresh runs of a failure that memory decides


@dataclass(frozen=True)
class Subject:
    """A failing program. ``text`` has no block of a case; ``fresh`` is its run just now."""

    path: Path
    text: str
    oracle: Oracle | Faces
    target: Target
    fresh: Execution
    limit: float  # seconds of one run
    case: Case | None = None

    def fails_the_same(self, execution: Execution, text: str) -> bool:
        """Whether a run of ``text`` shows this failure."""
        return status_of(execution, self.oracle, text).word == FAILS


@contextmanager
def subject(
    path: Path,
    *,
    python: str | None,
    timeout: float | None,
    preload: Path | None,
    jobs: int | None,
    progress: Progress,
) -> Iterator[Subject]:
    """The program in the file ``path``, run once.

    Raises:
        UsageError: it cannot be read, or what is asked for cannot be.
        NotFailingError: it does not fail, or no longer as its table says.
        TargetError: the interpreter cannot run it.
    """
    text = read_source(path)
    request = checked(Request(script=None, text=text, python=python, timeout=timeout, preload=preload, jobs=jobs))
    scratch = scratches.make_scratch()
    try:
        if _is_case(text):
            progress.phase("running the case in a fresh interpreter")
            yield _of_case(read(path), request, scratch)
        else:
            yield _of_program(path, request, progress)
    finally:
        scratches.remove(scratch)


def _is_case(text: str) -> bool:
    try:
        found = block.find(block.plain(text))
    except block.BlockError:
        return True  # told by the reader of cases
    return found is not None and "[tool.shrinkrepro" in found.toml


def _of_program(path: Path, request: Request, progress: Progress) -> Subject:
    text = block.program(request.text or "")
    asked = replace(request, script=path, text=text, cwd=path.absolute().parent)
    script = read_script(asked)
    target = make_target(asked, script)
    target.check()
    local = locate(target, text)
    if local.sources:
        names = ", ".join(sorted(local.sources))
        raise UsageError(f"{path} imports {names}, and a report is of one file", "shrinkrepro reduce folds them in")
    target = replace(target, modules=libraries(script, local))
    limit = request.timeout or SECONDS
    progress.phase("running the program in a fresh interpreter")
    fresh = run_fresh(target, text, limit)
    oracle = Oracle.of(fresh)
    if oracle is None:
        raise NotFailingError(
            f"{path} does not fail: it ended normally after {fresh.seconds:.1f} s",
            "was it edited? Reduce the script again, or give a program that fails",
        )
    early = before_torch(fresh)
    if early is not None:
        if fresh.chain and lacks_torch(fresh.chain[-1]):
            raise targets.no_torch(target.python, fresh.chain[-1].message)
        raise FailsEarlyError(early.message, early.hint)
    return Subject(path, text, oracle, target, fresh, limit)


def _of_case(case: Case, request: Request, scratch: Path) -> Subject:
    text = block.program(case.text)
    try:
        modules = tuple(sorted(imported_names(text)))
    except (SyntaxError, ValueError) as error:
        raise CaseError(f"{case.path} has a syntax error: {error}", "mend it first") from None
    target = Target(
        python=request.python or sys.executable,
        script_path=scratch / "case.py",
        cwd=scratch,
        preload=request.preload.absolute() if request.preload is not None else None,
        modules=modules,
    )
    target.check()
    oracle = oracle_of(case)
    limit = request.timeout or case.timeout or SECONDS
    for _ in range(_TRIES if isinstance(oracle, Faces) else 1):
        fresh = run_fresh(target, text, limit)
        if status_of(fresh, oracle, text).word == FAILS:
            return Subject(case.path, text, oracle, target, fresh, limit, case)
    raise _other(case, oracle, fresh, text, target)


def _other(case: Case, oracle: Oracle | Faces, fresh: Execution, text: str, target: Target) -> Exception:
    """Why there is nothing to tell of ``case``: it was edited, or this is another torch."""
    if fresh.chain and lacks_torch(fresh.chain[-1]):
        return targets.no_torch(target.python, fresh.chain[-1].message)
    status = status_of(fresh, oracle, text)
    now = f"it fails otherwise: {status.failure}" if status.failure else "it ends normally"
    if status.failure == "" and status.word not in (FAILS, "fixed"):
        now = status.detail or status.word
    if case.edited:
        return NotFailingError(
            f"{case.path} was edited and is no longer the failure of its table: {now}",
            f"undo the edit, or write its table anew: shrinkrepro add --force {case.path}",
        )
    seen = case.first_seen.get("torch", "another torch")
    if status.word == "error":
        return TargetError(f"{case.path} could not be judged: {now}", "try a larger --timeout")
    return NotFailingError(
        f"{case.path} does not fail the same on {target.python}: {now}; it was seen with torch {seen}",
        "name the interpreter that has that torch with --python PATH",
    )

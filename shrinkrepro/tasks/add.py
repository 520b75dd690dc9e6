"""The task behind ``shrinkrepro add`` and ``reduce --case``: a program that fails becomes a case.

Decision: what stands in the table is measured on the very text that will be written, in a fresh interpreter and in warm
servers; so a case fails in its first replay as its table says.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shrinkrepro.core.local_modules import imported_names
from shrinkrepro.corpus import block
from shrinkrepro.corpus.case import FAILS, TORCH, Case, CaseError, read, toml_of
from shrinkrepro.corpus.digest import digest
from shrinkrepro.corpus.write import render
from shrinkrepro.errors import TooFlakyError, UsageError
from shrinkrepro.oracles import controls
from shrinkrepro.oracles.faces import Faces, faces
from shrinkrepro.oracles.mismatch import Difference
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import HANG
from shrinkrepro.protocol import OK, RUN, Execution, Job
from shrinkrepro.session import Progress, Reduction, Request
from shrinkrepro.session.original import run_original
from shrinkrepro.tasks.case_signature import table_of
from shrinkrepro.tasks.inputs import checked, read_source
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.pool import Pool, default_jobs
from shrinkrepro.workers.shelf import Shelf
from shrinkrepro.workers.target import Target

SECONDS = 60.0  # of one run; a hang ends after ``HANG_SECONDS``
HANG_SECONDS = 15.0
OTHER_SEEDS = (1, 2, 3)
FRESH_RUNS = 2  # beside the first
_TITLE_CHARACTERS = 100
_DEVICE = re.compile(r"""["'](cuda|mps|xpu)(?::\d+)?["']""")
_CONTROL_NAMES = {
    mode: mode.removeprefix("control-") for kind in ("exception", "mismatch") for mode in controls.modes_for(kind)
}
_NOT_A_NAME = re.compile(r"[^\w.-]+")
_KNOWN_DEPENDENCIES = ("numpy", "scipy", "torchvision", "einops")


@dataclass(frozen=True)
class AddRequest:
    """What the user asked for; an empty title is made from the failure."""

    file: Path
    title: str = ""
    origin: str = ""
    force: bool = False
    python: str | None = None
    timeout: float | None = None
    match: str = "signature"
    preload: Path | None = None
    jobs: int | None = None
    reduction: Mapping[str, Any] = field(default_factory=dict)
    confirmed: bool = False  # fresh runs of this very text have failed the same already


@dataclass(frozen=True)
class Added:
    """A case and the text of its file."""

    case: Case
    text: str


def add(request: AddRequest, progress: Progress) -> Added:
    """Make a case of the program in ``request.file``; nothing is written.

    Raises:
        UsageError: it is a case already, or cannot be one.
        NotFailingError: it does not fail.
        TooFlakyError: it fails only sometimes.
    """
    text = read_source(request.file)
    before = _before(request, text)
    return make_case(request, text, before, progress)


def make_case(
    request: AddRequest, text: str, before: Case | None, progress: Progress, shelf: Shelf | None = None
) -> Added:
    """The case of the program ``text`` that is to stand in ``request.file``; what ``before`` says of it is kept.

    ``shelf`` keeps warm servers for callers that make many cases.

    Raises:
        ShrinkReproError: it is no case: it does not fail, or not every time.
    """
    asked = checked(
        Request(
            script=None,
            text=text,
            cwd=request.file.absolute().parent,
            python=request.python,
            timeout=request.timeout,
            match=before.match if before is not None else request.match,
            preload=request.preload,
            jobs=request.jobs,
        )
    )
    limit = request.timeout or SECONDS
    original = run_original(replace(asked, text=text, timeout=limit), progress)
    target = replace(original.target, script_path=original.target.cwd / request.file.name)
    if original.local.sources:
        names = ", ".join(sorted(original.local.sources))
        raise UsageError(f"{request.file} imports {names}, and a case is one file", "shrinkrepro reduce folds them in")
    oracle, info, control = _measured(target, original.oracle, text, limit, request, progress, shelf)
    signature, *others = [one.signature for one in (oracle.oracles if isinstance(oracle, Faces) else (oracle,))]
    words = signature.describe()
    difference = oracle.difference if isinstance(oracle, Oracle) else None
    case = Case(
        name=request.file.stem,
        path=request.file,
        text=text,
        signature=table_of(signature),
        faces=tuple(table_of(one) for one in others),
        difference=_rounded(table_of(difference)) if difference is not None else {},
        failure=words,
        title=request.title or (before.title if before is not None else "") or default_title(words),
        expected=before.expected if before is not None else FAILS,
        on=before.on if before is not None else (),
        match=asked.match,
        control=control,
        device=_device(text),
        origin=request.origin or (before.origin if before is not None else ""),
        timeout=(request.timeout or HANG_SECONDS) if signature.kind == HANG else None,
        first_seen=(before.first_seen if before is not None else None) or info,
        reduction=request.reduction or (before.reduction if before is not None else {}),
        dependencies=(TORCH, *_dependencies(text)),
    )
    written = render(case)
    return Added(replace(case, text=written, program=digest(block.program(written))), written)


def _before(request: AddRequest, text: str) -> Case | None:
    """The case that the file is already; its table is made anew, its title, origin and expectations are kept."""
    try:
        found = block.find(block.plain(text))
    except block.BlockError as error:
        raise CaseError(f"{request.file}: {error}", "mend it or delete it first") from None
    if found is None or "shrinkrepro" not in toml_of(found.toml, request.file).get("tool", {}):
        return None
    if not request.force:
        raise UsageError(f"{request.file} is a case already", "write its table anew with --force")
    return read(request.file)


def _measured(
    target: Target,
    oracle: Oracle,
    text: str,
    limit: float,
    request: AddRequest,
    progress: Progress,
    shelf: Shelf | None,
) -> tuple[Oracle | Faces, dict[str, str], str]:
    """The oracle that holds fresh and in servers, the versions, and the control that ``text`` passes."""
    progress.phase("running it in a warm server")
    kind = oracle.signature.kind
    with (shelf.take if shelf is not None else Pool)(target, request.jobs or default_jobs()) as pool:
        seeds: Sequence[int | None] = (None,) if kind == HANG else (None, *OTHER_SEEDS)
        runs = pool.run([Job(text, RUN, limit, alone=True, seed=seed) for seed in seeds])
        modes = () if kind == HANG else controls.modes_for(kind)
        passed = pool.run([Job(text, mode, limit, alone=True) for mode in modes]) if modes else []
        control = next((_CONTROL_NAMES[mode] for mode, run in zip(modes, passed) if run.status == OK), "none")
        info = {
            "torch": pool.info.torch,
            "python": pool.info.python,
            "platform": f"{sys.platform} {platform.machine()}",
        }
    enough = kind == HANG or request.confirmed
    fresh = [] if enough else [run_fresh(target, text, limit) for _ in range(FRESH_RUNS)]
    if all(_same(oracle, run, text) for run in (*fresh, *runs)):
        return replace(oracle, difference=Difference.of(runs[0])), info, control
    # A crash hangs on a process's memory: each face that was seen is the bug, and fresh interpreters decide.
    if all(run.status != OK for run in fresh):
        several = faces(oracle, [run for run in (*fresh, *runs) if run.status != OK])
        if several is not None:
            return several, info, control
    failed = sum(_same(oracle, run, text) for run in (*fresh, *runs))
    raise TooFlakyError(
        f"{request.file.name} fails only sometimes: the same in {failed} of {len(fresh) + len(runs)} runs",
        "make it fail every time, for instance with torch.manual_seed(...)",
    )


def _same(oracle: Oracle, run: Execution, text: str) -> bool:
    return oracle.judge(run, text).interesting


def _rounded(table: dict[str, Any]) -> dict[str, Any]:
    """Three digits of each number: the last ones differ from machine to machine."""
    return {name: float(f"{value:.3g}") if isinstance(value, float) else value for name, value in table.items()}


def default_title(words: str) -> str:
    """The failure up to where it was raised, short."""
    text = words.partition(", raised ")[0].partition(", under ")[0]
    return text if len(text) <= _TITLE_CHARACTERS else text[: _TITLE_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"


def _device(text: str) -> str:
    found = _DEVICE.search(text)
    return found[1] if found else "cpu"


def _dependencies(text: str) -> list[str]:
    roots = {name.partition(".")[0] for name in imported_names(text)}
    return [name for name in _KNOWN_DEPENDENCIES if name in roots]


def case_file(place: Path, name: str) -> Path:
    """Where ``reduce --case PLACE`` puts a case: PLACE when it is a Python file, else ``NAME.py`` in that folder."""
    return place if place.suffix == ".py" else place / f"{_NOT_A_NAME.sub('_', name)}.py"


def of_reduction(request: AddRequest, reduction: Reduction, original: str, progress: Progress) -> Added:
    """The case of a reduction's result; ``original`` names what was reduced.

    Raises:
        ShrinkReproError: what is left is no case.
    """
    sizes = {
        "original": original,
        "tokens-before": reduction.tokens_before,
        "tokens-after": reduction.tokens_after,
        "queries": reduction.counts.run,
    }
    return make_case(replace(request, reduction=sizes), reduction.source, None, progress)

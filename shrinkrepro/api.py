"""What ``import shrinkrepro`` offers: reductions from Python, and the words that a strategy is written in.

Decision: the command line calls these very functions, so that what it can do a program can do too.

A strategy of one's own::

    from shrinkrepro import Edit, Facts, Program, Tier, delete, strategy

    @strategy("drop-print", tier=Tier.COARSE, independent=True)
    def drop_print(program: Program, facts: Facts) -> Iterator[Edit]:
        \"\"\"Delete statements that only print.\"\"\"
        ...

    STRATEGIES = (drop_print,)   # [project.entry-points."shrinkrepro.strategies"]  mine = "my_package:STRATEGIES"
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from shrinkrepro.core.edits import Change, Edit, delete, join, replace
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.registry import load_strategies
from shrinkrepro.core.strategy import Strategy, Tier, strategy
from shrinkrepro.errors import (
    FailsEarlyError,
    NotFailingError,
    ShrinkReproError,
    TargetError,
    TooFlakyError,
    UsageError,
)
from shrinkrepro.session import AlsoFound, Confinement, Counts, Progress, Reduction, Request
from shrinkrepro.tasks import check as _check
from shrinkrepro.tasks import function as _function
from shrinkrepro.tasks import reduction as _reduction
from shrinkrepro.tasks import sanitize as _sanitize
from shrinkrepro.tasks.check import CheckResult
from shrinkrepro.tasks.function import TransformsResult, Under
from shrinkrepro.tasks.inputs import parse_duration
from shrinkrepro.tasks.sanitize import SanitizeResult

__all__ = [
    "AlsoFound",
    "Change",
    "CheckResult",
    "Confinement",
    "Counts",
    "Edit",
    "Facts",
    "FailsEarlyError",
    "NotFailingError",
    "Program",
    "Progress",
    "Reduction",
    "Request",
    "SanitizeResult",
    "ShrinkReproError",
    "Strategy",
    "TargetError",
    "Tier",
    "TooFlakyError",
    "TransformsResult",
    "Under",
    "UsageError",
    "check",
    "delete",
    "join",
    "load_strategies",
    "reduce",
    "replace",
    "sanitize",
    "strategy",
    "try_transforms",
]


CONFINED = Confinement()  # the default: nothing that a program does outlives it


class Silent:
    """The progress of a caller who asked for none."""

    def phase(self, text: str) -> None:
        """Say nothing."""

    def step(self, strategy: str, source: str, tokens: int) -> None:
        """Say nothing."""

    def query(self, counts: Counts, strategy: str) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


def reduce(
    source_or_path: str | os.PathLike[str] | None = None,
    *,
    module: str | None = None,
    args: Sequence[str] = (),
    python: str | None = None,
    device: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    budget: float | str | None = None,
    jobs: int | None = None,
    timeout: float | str | None = None,
    match: str = "signature",
    keep: str | None = None,
    exclude: str | None = None,
    differs: tuple[str, str] | None = None,
    under: Under | None = None,
    control: Sequence[str] = (),
    seed: int = 0,
    isolation: str | None = None,
    preload: str | os.PathLike[str] | None = None,
    confinement: Confinement = CONFINED,
    anyway: bool = False,
    out: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Reduction:
    """Reduce a failing script to the smallest program that fails the same way.

    ``source_or_path`` is a path, or the source itself: a ``str`` with a line break in it is source. In its place
    ``module`` names a module to be run as with ``python -m``. ``Reduction.source`` is the text; without ``out`` nothing
    is written.

    Args:
        source_or_path: the script.
        module: a module's dotted name.
        args: what the script finds in ``sys.argv[1:]``.
        python: the interpreter that has the torch under test; by default this one.
        device: the target's default device, which also replaces those that the script names.
        cwd: the folder that the script runs in; by default the current one.
        budget: of the whole run, in seconds or as ``"10m"``.
        jobs: queries at a time; by default one for each core. The result does not depend on it.
        timeout: of one query, in seconds or as ``"30s"``; by default measured on the original.
        match: what makes two failures the same: ``signature``, ``message``, ``type`` or ``/regex/``.
        keep: a regular expression that the reduced source must go on matching.
        exclude: a regular expression of another, known failure, on the output.
        differs: of a script that does not fail, two expressions in its own names, which should be close.
        under: a function of the script to put under a transform, and to compare with its reference.
        control: what the script must pass, and so must its reductions: ``primal``, ``reference``, ``vmap``,
            ``forward``, ``eager``, ``finite-difference``, ``float64``, ``cpu``, ``python=PATH``, or ``none``; by
            default the strictest that it passes.
        seed: of the target's random number generators.
        isolation: ``fork`` or ``spawn``; by default fork where it serves.
        preload: a Python file that is run before the script in every run.
        confinement: what programs may write to, reach and take.
        anyway: reduce also a failure that comes before anything of torch's.
        out: a file for the result. While the run goes on, the best program so far is beside it as ``NAME.partial.py``;
            a run that was killed is taken up where it was. ``Reduction.unwritten`` says why there is no such file.
        fresh: begin anew, whatever an earlier run has left.
        progress: told what happens.

    Raises:
        UsageError: the request cannot work.
        NotFailingError: the script does not fail.
        TooFlakyError: it fails too rarely to judge.
        TargetError: the interpreter cannot run it.
        FailsEarlyError: it fails before anything of torch's.
    """
    script, text = _script_or_text(source_or_path, module)
    request = Request(
        script=script,
        module=module,
        text=text,
        args=tuple(args),
        python=python,
        device=device,
        cwd=_path(cwd),
        budget=_seconds(budget, "--budget"),
        jobs=jobs,
        timeout=_seconds(timeout, "--timeout"),
        match=match,
        keep=keep,
        exclude=exclude,
        differs=differs,
        controls=tuple(control),
        seed=seed,
        isolation=isolation,
        preload=_path(preload),
        confinement=confinement,
        anyway=anyway,
        output=_path(out),
        fresh=fresh,
    )
    if under is not None:
        return _function.reduce(request, under, progress or Silent())
    return _reduction.reduce(request, progress or Silent())


def check(
    source_or_path: str | os.PathLike[str] | None = None,
    *,
    module: str | None = None,
    args: Sequence[str] = (),
    python: str | None = None,
    device: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | str | None = None,
    match: str = "signature",
    under: Under | None = None,
    seed: int = 0,
    isolation: str | None = None,
    preload: str | os.PathLike[str] | None = None,
    confinement: Confinement = CONFINED,
    progress: Progress | None = None,
) -> CheckResult:
    """Run a script a few times and say what fails, where, how reliably, and what ``reduce`` would make of it.

    Takes and raises what ``reduce`` does.
    """
    script, text = _script_or_text(source_or_path, module)
    request = Request(
        script=script,
        module=module,
        text=text,
        args=tuple(args),
        python=python,
        device=device,
        cwd=_path(cwd),
        timeout=_seconds(timeout, "--timeout"),
        match=match,
        seed=seed,
        isolation=isolation,
        preload=_path(preload),
        confinement=confinement,
    )
    if under is not None:
        return _function.check(request, under, progress or Silent())
    return _check.check(request, progress or Silent())


def sanitize(
    source_or_path: str | os.PathLike[str] | None = None,
    *,
    module: str | None = None,
    args: Sequence[str] = (),
    python: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | str | None = None,
    seed: int = 0,
    isolation: str | None = None,
    preload: str | os.PathLike[str] | None = None,
    confinement: Confinement = CONFINED,
    progress: Progress | None = None,
) -> SanitizeResult:
    """Run a script once with every outermost transform call also run by its reference, and say which differ.

    Also the pairs of values that differ and may be meant to be equal. Takes what ``reduce`` does.
    """
    script, text = _script_or_text(source_or_path, module)
    request = Request(
        script=script,
        module=module,
        text=text,
        args=tuple(args),
        python=python,
        cwd=_path(cwd),
        timeout=_seconds(timeout, "--timeout"),
        seed=seed,
        isolation=isolation,
        preload=_path(preload),
        confinement=confinement,
    )
    return _sanitize.sanitize(request, progress or Silent())


def try_transforms(
    source_or_path: str | os.PathLike[str] | None,
    under: Under,
    *,
    module: str | None = None,
    args: Sequence[str] = (),
    python: str | None = None,
    device: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    timeout: float | str | None = None,
    seed: int = 0,
    isolation: str | None = None,
    preload: str | os.PathLike[str] | None = None,
    confinement: Confinement = CONFINED,
    progress: Progress | None = None,
) -> TransformsResult:
    """Say under which transforms a function differs from its reference; ``under.transform`` is ``"all"``.

    Takes and raises what ``reduce`` does.
    """
    script, text = _script_or_text(source_or_path, module)
    request = Request(
        script=script,
        module=module,
        text=text,
        args=tuple(args),
        python=python,
        device=device,
        cwd=_path(cwd),
        jobs=jobs,
        timeout=_seconds(timeout, "--timeout"),
        seed=seed,
        isolation=isolation,
        preload=_path(preload),
        confinement=confinement,
    )
    return _function.try_all(request, under, progress or Silent())


def _script_or_text(given: str | os.PathLike[str] | None, module: str | None) -> tuple[Path | None, str | None]:
    if given is None:
        return None, None
    if module is not None:
        raise UsageError("name one script, or one module", f"leave out the source or module={module!r}")
    if isinstance(given, str) and "\n" in given:
        return None, given
    return Path(given), None


def _path(given: str | os.PathLike[str] | None) -> Path | None:
    return None if given is None else Path(given)


def _seconds(given: float | str | None, option: str) -> float | None:
    return parse_duration(given, option) if isinstance(given, str) else given

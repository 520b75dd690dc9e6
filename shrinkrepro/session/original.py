"""The original: read, folded into one file, and run until its failure is known.

Decision: everything that a reduction rests on is measured before the first edit: the failure of a fresh
interpreter, the same failure in two warm servers, and whether the one-file form still shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from shrinkrepro.core.bundle import BundleError, bundle
from shrinkrepro.core.devices import on_device
from shrinkrepro.core.local_modules import imported_names
from shrinkrepro.core.uncalled import uncalled_tests
from shrinkrepro.errors import (
    FailsEarlyError,
    NotFailingError,
    ShrinkReproError,
    TargetError,
    TooFlakyError,
    UsageError,
)
from shrinkrepro.oracles.early import before_torch
from shrinkrepro.oracles.flakiness import Rate
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import LOST, OK, TIMEOUT, Execution, Raised
from shrinkrepro.session.chance import pinned_or_flaky
from shrinkrepro.session.confined import OUTSIDE, check_refused
from shrinkrepro.session.differing import compared, settled
from shrinkrepro.session.journal import Journal, journal_path
from shrinkrepro.session.request import Progress, Request
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.locate import LocalModules, locate
from shrinkrepro.workers.target import Target, no_torch

FRESH_SECONDS = 600.0  # what the original may take when no --timeout is given


@dataclass(frozen=True)
class Script:
    """The program as the user gave it."""

    path: Path
    text: str
    package: str = ""  # its own package, when run with -m


@dataclass(frozen=True)
class Original:
    """What is known of the original once it has run."""

    script: Script
    local: LocalModules
    target: Target
    fresh: Execution
    oracle: Oracle
    pinned: bool = False  # seeds were added to its text, without which it passes at times
    flaky: Rate | None = None  # it fails only sometimes, whatever its seeds are: of the first runs, how many failed
    journal: Journal | None = None  # of this run and those of the same command that were killed


def read_script(request: Request) -> Script:
    """The script that ``request`` names.

    Raises:
        UsageError: it cannot be found or read.
    """
    cwd = (request.cwd or Path.cwd()).absolute()
    package = ""
    if request.module is not None:
        path = _module_file(request.module, cwd)
        package = request.module.rpartition(".")[0]
        if path.name == "__main__.py":
            package = request.module
    else:
        path = request.script.absolute() if request.script is not None else cwd / "script.py"
    text = request.text if request.text is not None else path.read_text(encoding="utf-8-sig")
    return Script(path, text, package)


def _module_file(module: str, cwd: Path) -> Path:
    base = cwd.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__main__.py"):
        if path.is_file():
            return path
    raise UsageError(f"-m {module}: there is no such module in {cwd}", "name the folder it is in with --cwd DIR")


def make_target(request: Request, script: Script) -> Target:
    """The target that ``request`` asks for."""
    cwd = (request.cwd or Path.cwd()).absolute()
    return Target(
        python=request.python or sys.executable,
        script_path=script.path,
        cwd=cwd,
        args=request.args,
        sys_path0=cwd if request.module is not None else script.path.parent,
        package=script.package,
        seed=request.seed,
        preload=request.preload.absolute() if request.preload else None,
        memory=request.confinement.memory,
        allow_write=tuple(path.resolve() for path in request.confinement.allow_write),
        network=request.confinement.network,
        sandbox=request.confinement.sandbox,
    )


def run_original(request: Request, progress: Progress) -> Original:
    """Read the script and run it once in a fresh interpreter.

    Raises:
        ShrinkReproError: it cannot run, does not fail, or fails before torch.
    """
    script = read_script(request)
    target = make_target(request, script)
    target.check()
    local = locate(target, script.text, script.package)
    if request.device is not None:
        script, local = _moved(script, local, request.device)
    target = replace(target, modules=libraries(script, local))
    journal = _journal(request, script, local, progress)
    try:
        return _run_original(request, progress, script, local, target, journal)
    except ShrinkReproError:
        if journal is not None:
            journal.remove()
        raise


def _journal(request: Request, script: Script, local: LocalModules, progress: Progress) -> Journal | None:
    if request.output is None:
        return None
    journal = Journal(journal_path(request, script.path, script.text, local.sources), progress.note)
    if request.fresh:
        journal.clear()
    return journal


def _run_original(
    request: Request,
    progress: Progress,
    script: Script,
    local: LocalModules,
    target: Target,
    journal: Journal | None,
) -> Original:
    own = script.text
    made = compared(own, request.differs) if request.differs is not None else None
    script = replace(script, text=made.text) if made is not None else script
    progress.phase("running the original in a fresh interpreter")
    limit = request.timeout or min(FRESH_SECONDS, max(60.0, request.budget or FRESH_SECONDS))
    fresh = run_fresh(target, script.text, limit)
    if fresh.status == TIMEOUT and request.timeout is None:
        raise UsageError(
            f"{script.path.name} does not end within {limit:.0f} s",
            "if it hangs, say when that is clear: --timeout 20; if it is slow, give it a larger --budget",
        )
    check_refused(fresh, target, progress, request.anyway)
    if fresh.status == LOST:
        raise TargetError(f"the script could not be run: {fresh.detail}", "try --python PATH")
    if request.differs is not None and made is not None:
        text, fresh = settled(own, request.differs, made, fresh, target, limit)
        script = replace(script, text=text)
    oracle = Oracle.of(fresh, request.match, request.exclude)
    pinned, rate = False, None
    if oracle is None and fresh.status == OK:
        pinned_to, rate, failing = pinned_or_flaky(request, script.text, target, fresh, journal)
        if pinned_to is not None:
            script, pinned = replace(script, text=pinned_to), True
            fresh = run_fresh(target, script.text, limit)
        elif failing is not None:
            fresh = failing
        oracle = Oracle.of(fresh, request.match, request.exclude)
    if oracle is None:
        raise _not_failing(request, script, fresh)
    early = before_torch(fresh)
    if early is not None and fresh.chain[-1:] and lacks_torch(fresh.chain[-1]):
        raise no_torch(target.python, fresh.chain[-1].message)
    if early is not None and not request.anyway:
        raise FailsEarlyError(early.message, early.hint)
    return Original(script, local, target, fresh, oracle, pinned, rate, journal)


def lacks_torch(raised: Raised) -> bool:
    """Whether it was torch itself that could not be imported."""
    return raised.type == "ModuleNotFoundError" and raised.message == "No module named 'torch'"


def _moved(script: Script, local: LocalModules, device: str) -> tuple[Script, LocalModules]:
    """The script on another device; its local modules are folded in first, as those on disk stay as they are."""
    text = script.text
    if local.sources:
        try:
            text = bundle(text, local.sources, local.packages, script.package)
        except BundleError as error:
            raise UsageError(f"--device needs one file, and {error}", "give a script without local modules") from error
        local = LocalModules({}, frozenset())
    return replace(script, text=on_device(text, device)), local


def libraries(script: Script, local: LocalModules) -> tuple[str, ...]:
    """The libraries that the script and its local modules import: what a warm server imports in advance."""
    own = {name.split(".")[0] for name in local.sources} | {"__main__"}
    texts = [(script.text, script.package)]
    texts += [(text, n if n in local.packages else n.rpartition(".")[0]) for n, text in local.sources.items()]
    names = {name for text, package in texts for name in imported_names(text, package)}
    return tuple(sorted(name for name in names if name.split(".")[0] not in own))


def _not_failing(request: Request, script: Script, fresh: Execution) -> NotFailingError:
    if fresh.status != OK:
        return NotFailingError(
            f"{script.path.name} fails, but nothing that it says matches --match {request.match}",
            "leave --match out, or write the regex after what a run prints",
        )
    printed = fresh.stdout.strip().splitlines()
    tests = uncalled_tests(script.text)
    if tests:
        return NotFailingError(
            f"{script.path.name} does not fail: it defines tests, and nothing calls them",
            f"name one, as pytest does: {script.path.name}::{tests[0]}",
        )
    last = f"; its last line was {printed[-1]!r}" if printed else "; it printed nothing"
    return NotFailingError(
        f"{script.path.name} does not fail: it ended normally after {fresh.seconds:.1f} s{last}",
        "if it prints what is wrong, name it: --differs GOT WANT (shrinkrepro check lists the pairs that differ)"
        + (OUTSIDE if request.confinement.sandbox else ""),
    )


def flaky(script: Script, failed: int, runs: int) -> TooFlakyError:
    """The error for a failure that does not come every time."""
    return TooFlakyError(
        f"{script.path.name} fails only sometimes: {failed} of {runs} runs failed",
        "make it fail every time, for instance with torch.manual_seed(...) at its start",
    )


def one_file(original: Original, holds: Callable[[str], bool], findings: list[str]) -> str:
    """The text that the reduction starts from: the script with its local modules folded in, where that can be done."""
    script, local = original.script, original.local
    if not local.sources:
        return script.text
    reason = ""
    for lazily in (False, True):  # a module that is only imported inside a function may have to wait for the call
        try:
            text = bundle(script.text, local.sources, local.packages, script.package, lazily=lazily)
        except (BundleError, SyntaxError) as error:
            reason = str(error)
            continue
        if text == script.text or holds(text):
            return text
        reason = reason or "folded into one file, the failure is another"
    findings.append(f"local modules stay outside the result: {reason}")
    return script.text

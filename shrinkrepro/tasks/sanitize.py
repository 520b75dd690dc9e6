"""What a script that does not fail may still have wrong: transform calls that differ from their references, and pairs
of values that differ.

Decision: one run gives both. A finding is certain enough to fail a command; a pair is only a suggestion.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from typing import Any

from shrinkrepro.core.transform_calls import call_at
from shrinkrepro.errors import TargetError
from shrinkrepro.oracles.pairs import Pair, ranked, value_from_wire
from shrinkrepro.oracles.signature import signature_of
from shrinkrepro.protocol import LOST, OK, SANITIZE, TIMEOUT, Execution, Job
from shrinkrepro.session import Progress, Request
from shrinkrepro.session.original import Script, make_target, read_script
from shrinkrepro.tasks.inputs import checked
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.spawn import SpawnPool

SECONDS = 900.0  # what the one run may take, which runs everything several times
PAIRS = 5  # that are told
LEAST_SCORE = 2.0  # of a pair: below it nothing speaks for it but its shape


@dataclass(frozen=True)
class Finding:
    """A line whose transform gives another value than its reference. ``by``: reference, gradient (of the result, the
    reference's is another), slope (finite differences of the function itself), or float64."""

    file: str
    line: int
    text: str  # the line itself
    transform: str
    kind: str  # value | sign | zero | nan | inf | shape | dtype
    times: int
    actual: tuple[Any, ...]  # a few elements
    expected: tuple[Any, ...]
    error: float  # relative to the largest expected value
    by: str
    command: str = ""  # that reduces it; empty where the call cannot be written as options


@dataclass(frozen=True)
class Suggestion:
    """Two expressions that may be meant to be equal, and how they differ; ``command`` reduces that."""

    got: str
    want: str
    how: str
    command: str


@dataclass(frozen=True)
class SanitizeResult:
    """What one sanitized run gave. ``ended`` is empty when the script ended normally."""

    script: str
    ended: str
    findings: tuple[Finding, ...]
    pairs: tuple[Suggestion, ...]
    seconds: float


def sanitize(request: Request, progress: Progress) -> SanitizeResult:
    """Run what ``request`` names once, with every outermost transform call also run by its reference.

    Raises:
        ShrinkReproError: the request cannot work.
    """
    request = checked(request)
    return examined(request, read_script(request), progress)


def examined(request: Request, script: Script, progress: Progress) -> SanitizeResult:
    """As ``sanitize``, of a request that was looked at already."""
    target = make_target(request, script)
    job = Job(script.text, SANITIZE, request.timeout or SECONDS, alone=True)
    progress.phase("running it with a reference beside each transform")
    with SpawnPool(target) if request.isolation == "spawn" else Pool(target) as pool:
        [execution] = pool.run([job])
    if execution.status == LOST:
        raise TargetError(f"the script could not be run: {execution.detail}", "try --isolation spawn")
    values = [value_from_wire(value) for value in (execution.facts or {}).get("values", ())]
    pairs = [pair for pair in ranked(values, script.text) if pair.score >= LEAST_SCORE][:PAIRS]
    return SanitizeResult(
        script=script.path.name,
        ended=_ended(execution),
        findings=tuple(_finding(found, script, request) for found in execution.findings),
        pairs=tuple(_suggestion(pair, request) for pair in pairs) if execution.status == OK else (),
        seconds=execution.seconds,
    )


def _ended(execution: Execution) -> str:
    if execution.status == OK:
        return ""
    if execution.status == TIMEOUT:
        return "timed out"
    signature = signature_of(execution)
    return signature.describe() if signature is not None else execution.status


def _finding(found: dict[str, Any], script: Script, request: Request) -> Finding:
    lines = script.text.splitlines() if not found["file"] else []
    line = found["line"]
    call = call_at(script.text, line) if not found["file"] else None
    return Finding(
        file=found["file"] or script.path.name,
        line=line,
        text=lines[line - 1].strip() if 0 < line <= len(lines) else "",
        transform=found["transform"],
        kind=found["kind"],
        times=found["times"],
        actual=tuple(found["actual"]),
        expected=tuple(found["expected"]),
        error=found["error"] if math.isfinite(found["error"]) else 1.0,
        by=found["by"],
        command=_command(request, call.options()) if call is not None else "",
    )


def _suggestion(pair: Pair, request: Request) -> Suggestion:
    return Suggestion(pair.got, pair.want, pair.how, _command(request, ("--differs", pair.got, pair.want)))


def _command(request: Request, options: tuple[str, ...]) -> str:
    words = ["shrinkrepro", "reduce"]
    words += ["-m", request.module] if request.module is not None else [str(request.script or "SCRIPT")]
    words += options
    words += ["--preload", str(request.preload)] if request.preload is not None else []
    words += ["--", *request.args] if request.args else []
    return " ".join(shlex.quote(word) for word in words)

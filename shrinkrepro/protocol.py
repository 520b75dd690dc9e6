"""The wire messages between host and target: plain dictionaries in, plain dictionaries out.

Decision: everything that crosses is JSON text made of the types below, never pickled objects, so
that host and target may be different interpreters (target: Python >= 3.9, stdlib only here).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

RUN = "run"  # run the program as it is
OBSERVE = "observe"  # run it instrumented, and send back lines and values (facts)
OBSERVE_PRIMAL = "observe-primal"  # OBSERVE and PRIMAL together
PRIMAL = "primal"  # run it with every transform replaced by the plain function (DESIGN 4)
PRIMAL_STRICT = "primal-strict"  # and refuse transforms without inputs and functions without a result
CONTROL_REFERENCE = "control-reference"  # run it with every transform replaced by loops and plain autograd
CONTROL_STRICT = "control-reference-strict"  # and refuse custom Functions whose rules differ from their forward
CONTROL_FORWARD = "control-forward"  # forward mode alone, by reverse mode twice
CONTROL_VMAP = "control-vmap"  # vmap alone, by a loop
CONTROL_COMPILE = "control-compile"  # compile alone, by the identity
CONTROL_DIFFERENCES = "control-differences"  # every transform, derivatives by finite differences
CONTROL_DIFFERENCES_STRICT = "control-differences-strict"  # and refuse wrong rules of custom Functions, as above
CONTROL_TRUTH = (
    "control-truth"  # as differences64, but torch.autograd.functional stays: what a check compares with must be right
)
CONTROL_DIFFERENCES64 = "control-differences64"  # that and CONTROL_FLOAT64 together
CONTROL_FLOAT64 = "control-float64"  # as it is, with float64 in the place of lower precisions
CONTROL_CPU = "control-cpu"  # as it is, on the CPU
SANITIZE = "sanitize"  # run it with every outermost transform call also run by its reference, and compare
NEUTRAL = (
    "neutral:"  # with what follows it, ``target.neutral``'s: some operators replaced by plain sums of their inputs
)
OBSERVE_REFERENCE = "observe-reference"  # OBSERVE and CONTROL_REFERENCE together
OBSERVE_FORWARD = "observe-forward"  # and so on
OBSERVE_VMAP = "observe-vmap"
OBSERVE_COMPILE = "observe-compile"
OBSERVE_DIFFERENCES = "observe-differences"

OK = "ok"  # ended normally
EXCEPTION = "exception"  # an exception reached the top (or was caught and turned into an exit)
EXIT = "exit"  # sys.exit with a non-zero code and no exception behind it
SIGNAL = "signal"  # killed by a signal of its own doing: a crash
TIMEOUT = "timeout"  # killed by us after its time was up
LOST = "lost"  # the infrastructure failed: no verdict

OVER_LIMIT = 90  # exit code of a fresh run that took more than it may; the last line of its stderr says what


@dataclasses.dataclass(frozen=True)
class Job:
    """One program to run on the target. ``timeout`` is in seconds of wall time."""

    source: str
    mode: str = RUN
    timeout: float = 10.0
    alone: bool = False  # in a child of its own, never in a batch
    seed: Optional[int] = None  # of the program's random numbers; None: the target's


@dataclasses.dataclass(frozen=True)
class Frame:
    """One traceback frame, outermost first. ``lib`` is False for the program's own code."""

    file: str  # a library file relative to its site-packages (``torch/_functorch/apis.py``), else the base name
    line: int
    function: str
    lib: bool
    text: str = ""  # the source line, where a transform's own code was the innermost


@dataclasses.dataclass(frozen=True)
class Raised:
    """One exception of a chain. ``type`` is qualified (``torch._dynamo.exc.Unsupported``), builtins bare."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()


@dataclasses.dataclass(frozen=True)
class Execution:
    """What a worker saw of one job.

    ``chain`` is the exception and its causes or contexts, outermost (the one that was printed last) first,
    innermost cause last; it is filled from a harness or parsed from the traceback text of a fresh run.
    ``crash_frames`` are faulthandler's Python frames, innermost first, as ``file:function``.
    ``facts`` (OBSERVE only) is ``core.facts``' wire form; of SANITIZE, ``target.collect``'s. ``seconds`` is wall time.
    """

    status: str
    chain: tuple[Raised, ...] = ()
    code: int = 0  # exit code, or the signal's number
    stdout: str = ""  # the last few kilobytes
    stderr: str = ""
    warnings: tuple[str, ...] = ()  # "Category: message", in order, without repeats
    crash_frames: tuple[str, ...] = ()
    seconds: float = 0.0
    facts: Optional[dict[str, Any]] = None
    difference: Optional[dict[str, Any]] = None  # of a check that failed: ``target.compared``'s wire form
    findings: tuple[dict[str, Any], ...] = ()  # SANITIZE only: ``target.sanitize``'s wire form
    watched: bool = False  # by a harness, which sees what an exit was raised from; False: a fresh run
    drew: bool = False  # took numbers from torch's random generator
    detail: str = ""  # for LOST: what went wrong; else empty


def to_wire(execution: Execution) -> dict[str, Any]:
    """The execution as JSON types.

    Written out, because ``dataclasses.asdict`` takes a fifth of a millisecond, a good part of a query in a batch.
    """
    chain = [{**vars(raised), "frames": [dict(vars(frame)) for frame in raised.frames]} for raised in execution.chain]
    return {**vars(execution), "chain": chain}


def from_wire(data: dict[str, Any]) -> Execution:
    """The inverse of ``to_wire``; unknown keys are ignored, missing ones take their defaults."""
    known = {f.name for f in dataclasses.fields(Execution)}
    fields = {k: v for k, v in data.items() if k in known}
    fields["chain"] = tuple(
        Raised(r["type"], r["message"], tuple(Frame(**f) for f in r.get("frames", ()))) for r in data.get("chain", ())
    )
    fields["warnings"] = tuple(data.get("warnings", ()))
    fields["findings"] = tuple(data.get("findings", ()))
    fields["crash_frames"] = tuple(data.get("crash_frames", ()))
    return Execution(**fields)

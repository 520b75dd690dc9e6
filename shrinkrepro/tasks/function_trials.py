"""Functions under transforms, tried on a warm server: what they take and give, and how each call ends.

Decision: a call whose reference raises is tried again without it, so that one that raises too can still be reduced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType

from shrinkrepro.core.devices import on_device
from shrinkrepro.core.function_call import FunctionCall
from shrinkrepro.core.function_text import Observed, function_block
from shrinkrepro.core.main_code import appended
from shrinkrepro.errors import TargetError, UsageError
from shrinkrepro.oracles.mismatch import VALUE, Difference
from shrinkrepro.oracles.signature import signature_of
from shrinkrepro.protocol import CONTROL_FLOAT64, LOST, OK, RUN, TIMEOUT, Execution, Job
from shrinkrepro.session.original import FRESH_SECONDS, libraries, make_target, read_script
from shrinkrepro.session.request import Request
from shrinkrepro.tasks.function_probe import Probed, probe_text, read_probe
from shrinkrepro.workers.locate import locate
from shrinkrepro.workers.pool import Pool, default_jobs
from shrinkrepro.workers.spawn import SpawnPool

AGREES = "agrees"
FAILS = "fails"
ROUNDING = "rounding"  # it differs by little, and agrees in float64
NO_REFERENCE = "no reference"  # the reference itself raises, the call does not
NOT_APPLICABLE = "not applicable"

LITTLE = 1e-2  # of the largest value: what rounding in float32 may leave of a second derivative's digits
_DIFFER = "values differ"
_NO_MEMORY = re.compile(r"alloc_cpu\.cpp|out of memory|can't allocate memory")


@dataclass(frozen=True)
class Trial:
    """How one call ended. ``text`` is the script with the call, ``detail`` one line."""

    call: FunctionCall
    outcome: str
    detail: str = ""
    text: str = ""
    hint: str = ""
    difference: Difference | None = None


class Trials:
    """Tries calls of functions in one script; a context manager."""

    def __init__(self, request: Request, seconds: float = FRESH_SECONDS) -> None:
        script = read_script(request)
        self.script = replace(script, text=on_device(script.text, request.device)) if request.device else script
        target = make_target(request, self.script)
        target.check()
        local = locate(target, self.script.text, self.script.package)
        target = replace(target, modules=libraries(self.script, local))
        pool = SpawnPool if request.isolation == "spawn" else Pool
        self.pool = pool(target, request.jobs or default_jobs())
        self.timeout = request.timeout or seconds

    def __enter__(self) -> Trials:
        self.pool.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pool.close()

    def probe(self, call: FunctionCall, depths: Sequence[int]) -> Probed:
        """What the function takes and gives inside each number of vmaps.

        Raises:
            UsageError: the script, the function or its inputs do not work by themselves, or it draws random numbers.
        """
        [execution] = self._run([probe_text(self.script.text, call, tuple(depths))])
        if execution.status == LOST:
            raise TargetError(f"the script could not be run: {execution.detail}", "try --python PATH")
        probed = read_probe(execution, call, self.script.path.name, self.script.text)
        if probed.random:
            raise UsageError(
                f"{call.function} gives another result each time it is called, so there is nothing to compare with",
                "seed it inside with torch.manual_seed(...), or put its module in eval()",
            )
        return probed

    def try_calls(self, calls: Sequence[tuple[FunctionCall, Observed]]) -> list[Trial]:
        """How each call ends, in order."""
        results: dict[int, Trial] = {}
        waiting = list(range(len(calls)))
        for compared in (True, False):
            waiting = self._round(calls, waiting, results, compared=compared)
        self._look_at_rounding(results)
        return [results[i] for i in range(len(calls))]

    def _round(
        self,
        calls: Sequence[tuple[FunctionCall, Observed]],
        waiting: list[int],
        results: dict[int, Trial],
        *,
        compared: bool,
    ) -> list[int]:
        """Run the waiting calls; those whose reference raises before the call is made go on waiting."""
        texts: list[tuple[int, str, int, int]] = []
        for i in waiting:
            call, observed = calls[i]
            try:
                block = function_block(self.script.text, call, observed, compared=compared)
            except UsageError as error:
                results[i] = Trial(call, NOT_APPLICABLE, error.message, hint=error.hint)
                continue
            text, first = appended(self.script.text, block.text)
            texts.append((i, text, first + block.call, first + block.check))
        again = []
        for (i, text, made, check), execution in zip(texts, self._run([text for _, text, _, _ in texts])):
            call = calls[i][0]
            if execution.status == OK:
                if compared:
                    results[i] = Trial(call, AGREES, "", text)
                continue
            line = _own_line(execution)
            if line not in (None, made, check):
                if compared or i not in results:
                    raised = signature_of(execution)
                    results[i] = Trial(call, NO_REFERENCE, raised.describe() if raised is not None else "")
                if compared and line is not None and line < made:
                    again.append(i)
                continue
            results[i] = self._failed(call, text, execution)
        return again

    def _failed(self, call: FunctionCall, text: str, execution: Execution) -> Trial:
        if execution.chain and (_NO_MEMORY.search(execution.chain[-1].message) or _is_memory(execution)):
            return Trial(call, NOT_APPLICABLE, f"{call.name}: there is not enough memory", hint="give smaller inputs")
        if execution.status in (TIMEOUT, LOST):
            what = f"it took more than {self.timeout:g} s" if execution.status == TIMEOUT else execution.detail
            return Trial(
                call, NOT_APPLICABLE, f"{call.name}: {what}", hint="give smaller inputs, or more time by --timeout"
            )
        found = signature_of(execution)
        told = _difference(execution) or (found.describe() if found is not None else execution.status)
        return Trial(call, FAILS, told, text, difference=Difference.of(execution))

    def _look_at_rounding(self, results: dict[int, Trial]) -> None:
        """Ask float64 where values differ by little."""
        small = [i for i, trial in results.items() if trial.difference is not None and _little(trial.difference)]
        for i, run in zip(small, self._run([results[i].text for i in small], CONTROL_FLOAT64)):
            difference = results[i].difference
            if run.status == OK and difference is not None:
                told = f"{difference.describe()}, and agree in float64"
                results[i] = replace(results[i], outcome=ROUNDING, detail=told)

    def _run(self, texts: Sequence[str], mode: str = RUN) -> list[Execution]:
        return self.pool.run([Job(text, mode, self.timeout, alone=True) for text in texts]) if texts else []


def _difference(execution: Execution) -> str:
    """What a failed comparison says of the two values, one line; empty for other failures."""
    raised = execution.chain[0] if execution.chain else None
    if raised is None or raised.type != "AssertionError":
        return ""
    text = raised.message
    counted = re.search(r"Mismatched elements: (\d+) / (\d+)", text)
    largest = re.search(r"(?:Greatest absolute|Absolute) difference: (\S+)", text)
    scalars = re.search(r"Expected (\S+) but got (\S+?)\.?$", text, re.MULTILINE)
    if scalars is not None:
        return f"{_DIFFER}: {_short(scalars[2])} in the place of {_short(scalars[1])}"
    if counted is not None and largest is not None:
        return f"{_DIFFER}: {counted[1]} of {counted[2]}, by up to {_short(largest[1])}"
    return f"{_DIFFER}: {text.splitlines()[0].rstrip('.')}" if text else _DIFFER


def _little(difference: Difference) -> bool:
    return difference.kind in (VALUE, "sign") and difference.relative < LITTLE


def _is_memory(execution: Execution) -> bool:
    return execution.chain[-1].type in ("MemoryError", "torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError")


def _short(number: str) -> str:
    try:
        return f"{float(number):.3g}"
    except ValueError:
        return number


def _own_line(execution: Execution) -> int | None:
    """The line of the program's top level at which a run failed; None when it does not tell."""
    own = [frame.line for raised in execution.chain[:1] for frame in raised.frames if not frame.lib]
    return own[0] if own else None

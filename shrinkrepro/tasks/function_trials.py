"""Functions under transforms, tried on a warm server: what they take and give, and how each call ends.

Decision: a call whose reference raises is tried again without it, so that one that raises too can still be reduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType

from shrinkrepro.core.devices import on_device
from shrinkrepro.core.function_call import FunctionCall
from shrinkrepro.core.function_text import Observed, function_block
from shrinkrepro.core.main_code import appended
from shrinkrepro.errors import TargetError, UsageError
from shrinkrepro.oracles.signature import signature_of
from shrinkrepro.protocol import CONTROL_FLOAT64, LOST, OK, RUN, Execution, Job
from shrinkrepro.session.original import FRESH_SECONDS, libraries, make_target, read_script
from shrinkrepro.session.request import Request
from shrinkrepro.tasks.function_probe import Probed, probe_text, read_probe
from shrinkrepro.workers.locate import locate
from shrinkrepro.workers.pool import Pool, default_jobs
from shrinkrepro.workers.spawn import SpawnPool

AGREES = "agrees"
FAILS = "fails"
ROUNDING = "rounding"  # it differs, and agrees in float64
NO_REFERENCE = "no reference"  # the reference itself raises, the call does not
NOT_APPLICABLE = "not applicable"

_DIFFER = "values differ"


@dataclass(frozen=True)
class Trial:
    """How one call ended. ``text`` is the script with the call, ``detail`` one line."""

    call: FunctionCall
    outcome: str
    detail: str = ""
    text: str = ""
    hint: str = ""


class Trials:
    """Tries calls of functions in one script; a context manager."""

    def __init__(self, request: Request) -> None:
        script = read_script(request)
        self.script = replace(script, text=on_device(script.text, request.device)) if request.device else script
        target = make_target(request, self.script)
        target.check()
        local = locate(target, self.script.text, self.script.package)
        target = replace(target, modules=libraries(self.script, local))
        pool = SpawnPool if request.isolation == "spawn" else Pool
        self.pool = pool(target, request.jobs or default_jobs())
        self.timeout = request.timeout or FRESH_SECONDS

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
        """Run the waiting calls; those whose reference raises go on waiting, with a result for the last round."""
        texts: list[tuple[int, str, int]] = []
        for i in waiting:
            call, observed = calls[i]
            try:
                block = function_block(self.script.text, call, observed, compared=compared)
            except UsageError as error:
                results[i] = Trial(call, NOT_APPLICABLE, error.message, hint=error.hint)
                continue
            text, first = appended(self.script.text, block.text)
            texts.append((i, text, first + block.call))
        again = []
        for (i, text, line), execution in zip(texts, self._run([text for _, text, _ in texts])):
            call = calls[i][0]
            if execution.status == OK:
                if compared:
                    results[i] = Trial(call, AGREES, "", text)
                continue
            if _before(execution, line) and (compared or i in results):
                raised = signature_of(execution)
                results[i] = Trial(call, NO_REFERENCE, raised.describe() if raised is not None else "")
                again.append(i)
                continue
            found = signature_of(execution)
            told = _difference(execution) or (found.describe() if found is not None else "")
            told = told or execution.detail or execution.status
            results[i] = Trial(call, FAILS, told, text)
        return again

    def _look_at_rounding(self, results: dict[int, Trial]) -> None:
        differing = [i for i, trial in results.items() if trial.detail.startswith(_DIFFER)]
        runs = self._run([results[i].text for i in differing], CONTROL_FLOAT64)
        for i, run in zip(differing, runs):
            if run.status == OK:
                results[i] = replace(results[i], outcome=ROUNDING)

    def _run(self, texts: Sequence[str], mode: str = RUN) -> list[Execution]:
        return self.pool.run([Job(text, mode, self.timeout, alone=True) for text in texts]) if texts else []


def _difference(execution: Execution) -> str:
    """What a failed comparison says of the two values, one line; empty for other failures."""
    if not execution.chain or execution.chain[0].type != "AssertionError":
        return ""
    lines = execution.chain[0].message.splitlines()
    told = [
        line.strip().rstrip("!.") for line in lines if line.startswith(("Greatest absolute", "Expected", "The values"))
    ]
    mismatched = [line for line in lines if line.startswith("Mismatched")]
    return f"{_DIFFER}: {', '.join([*mismatched, *told])}" if mismatched or told else f"{_DIFFER}: {lines[0]}"


def _before(execution: Execution, line: int) -> bool:
    """Whether a run failed before ``line`` of the program."""
    own = [frame.line for raised in execution.chain[:1] for frame in raised.frames if not frame.lib]
    return bool(own) and own[0] < line

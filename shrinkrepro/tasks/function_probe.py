"""One run that tells what a function takes and gives: the script, and at its end a call with nothing transformed.

Decision: the run is made on the target, since only there are the script's names; what comes back is one line of JSON on
stdout. It also finds all that is wrong with the function by itself, before any transform can be blamed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from shrinkrepro.core.function_call import FunctionCall, called_as
from shrinkrepro.core.function_text import Observed
from shrinkrepro.core.function_values import OtherValue, value_of
from shrinkrepro.core.main_code import appended
from shrinkrepro.errors import UsageError
from shrinkrepro.protocol import OK, Execution

_MARK = "shrinkrepro-function "

# Its names stay inside one function, so that the script's own can be read and none is replaced.
_PROBE = """\
def shrinkrepro_probe(mark, function, collect, in_dims, depths):
    import json, sys, torch
    def describe(value):
        if isinstance(value, torch.Tensor):
            return {"shape": list(value.shape), "dtype": str(value.dtype)[6:]}
        kind = type(value)
        if kind in (tuple, list):
            return {"kind": kind.__name__, "items": [[i, describe(item)] for i, item in enumerate(value)]}
        if isinstance(value, dict) and all(isinstance(key, (str, int)) for key in value):
            return {"kind": "dict", "items": [[key, describe(item)] for key, item in value.items()]}
        return {"type": kind.__name__}
    def mapped(change, value):
        if isinstance(value, torch.Tensor):
            return change(value)
        if type(value) in (tuple, list):
            return type(value)([mapped(change, item) for item in value])
        if isinstance(value, dict) and all(isinstance(key, (str, int)) for key in value):
            return {key: mapped(change, item) for key, item in value.items()}
        return value
    def sliced(value, dim):
        def one(tensor):
            if dim is None or (dim == "auto" and tensor.dim() == 0):
                return tensor
            return tensor.select(0 if dim == "auto" else dim, 0)
        return mapped(one, value)
    def leaves(value, found):
        mapped(lambda tensor: found.append(tensor.detach().clone()), value)
        return found
    def equal(a, b):
        a, b = leaves(a, []), leaves(b, [])
        return len(a) == len(b) and all(
            x.shape == y.shape and torch.allclose(x.to_dense(), y.to_dense(), equal_nan=True) for x, y in zip(a, b)
        )
    found = {"stage": "function"}
    try:
        call = function()
        found["stage"] = "inputs"
        args, kwargs = collect(lambda *args, **kwargs: (args, kwargs))
        found["inputs"] = [describe(value) for value in args]
        found["outputs"] = {}
        found["changes"] = found["random"] = False
        for depth in depths:
            found["stage"] = "slices"
            given = list(args)
            for _ in range(depth):
                dims = ["auto"] * len(given) if in_dims is None else in_dims
                given = [sliced(value, dim) for value, dim in zip(given, dims)]
            found["stage"] = "call"
            try:
                before = leaves(given, [])
                fresh = lambda: mapped(lambda tensor: tensor.detach().clone(), given)
                first = fresh()
                output = call(*first, **kwargs)
                found["outputs"][str(depth)] = describe(output)
                found["changes"] = found["changes"] or not equal(first, before)
                found["random"] = found["random"] or not equal(output, call(*fresh(), **kwargs))
            except Exception as error:
                found["outputs"][str(depth)] = {"error": type(error).__name__ + ": " + str(error)}
        found["stage"] = "done"
    except Exception as error:
        found["error"] = type(error).__name__ + ": " + str(error)
    sys.__stdout__.write("\\n" + mark + json.dumps(found) + "\\n")
    sys.__stdout__.flush()
"""


@dataclass(frozen=True)
class Probed:
    """What the run told; a failed call has its message in place of a result."""

    inputs: tuple[Any, ...]
    outputs: dict[int, Any]  # by the number of vmaps around the function
    errors: dict[int, str]
    changes: bool
    random: bool
    called_as: str

    def observed(self, call: FunctionCall, depth: int) -> Observed:
        """The facts for a function inside ``depth`` vmaps.

        Raises:
            UsageError: it raises there by itself.
        """
        if depth in self.errors:
            where = " of one sample" if depth else ""
            hint = "vmap hands over slices: give inputs with one more dimension, or --in-dims" if depth else ""
            if "argument" in self.errors[depth] and self.called_as:
                hint = f"it is called as {self.called_as}"
            raise UsageError(
                f"{call.function}({', '.join(call.inputs)}){where} raises with no transform: {self.errors[depth]}",
                hint or "look at --inputs",
            )
        return Observed(self.inputs, self.outputs.get(depth, OtherValue("NoneType")), self.changes)


def probe_text(script: str, call: FunctionCall, depths: tuple[int, ...]) -> str:
    """The script, and at its end a run of the function inside each number of vmaps in ``depths``."""
    given = ", ".join([*call.inputs, *(f"{key}={value}" for key, value in call.keywords)])
    calls = f"lambda: {call.function}, lambda _: _({given})"
    last = f"shrinkrepro_probe({_MARK!r}, {calls}, {call.in_dims!r}, {depths!r})"
    return appended(script, _PROBE + last)[0]


def read_probe(execution: Execution, call: FunctionCall, script: str, text: str) -> Probed:
    """What a run of ``probe_text`` told, for a ``script`` of that name with that text.

    Raises:
        UsageError: it did not come so far, or the function or its inputs are not there.
    """
    lines = [line for line in execution.stdout.splitlines() if line.startswith(_MARK)]
    if not lines:
        raise UsageError(*_never_came(execution, call, script))
    found = json.loads(lines[-1][len(_MARK) :])
    error = " ".join(found.get("error", "").split())
    if found["stage"] == "function":
        raise UsageError(f"--function {call.function} cannot be evaluated: {error}", f"look for it in {script}")
    if found["stage"] == "inputs":
        given = ", ".join([*call.inputs, *(f"{key}={value}" for key, value in call.keywords)])
        raise UsageError(
            f"--inputs {given!r} cannot be evaluated: {error}", f"give expressions in the names of {script}'s top level"
        )
    if error:
        raise UsageError(
            f"{call.name}: the inputs cannot be sliced: {error}", "give other --in-dims or larger --inputs"
        )
    outputs = {int(depth): wire for depth, wire in found["outputs"].items()}
    return Probed(
        tuple(value_of(wire) for wire in found["inputs"]),
        {depth: value_of(wire) for depth, wire in outputs.items() if "error" not in wire},
        {depth: " ".join(wire["error"].split()) for depth, wire in outputs.items() if "error" in wire},
        found["changes"],
        found.get("random", False),
        called_as(text, call.function),
    )


def _never_came(execution: Execution, call: FunctionCall, script: str) -> tuple[str, str]:
    if execution.chain:
        raised = execution.chain[0]
        own = [frame.line for frame in raised.frames if not frame.lib]
        where = f" in line {own[0]}" if own else ""
        text = f"{raised.type}: {' '.join(raised.message.split())}"
        return (
            f"{script} fails by itself{where}, before {call.function} is called: {text}",
            "reduce it without --function",
        )
    if execution.status == OK or execution.code:
        return f"{script} ends before its last line, where {call.function} would be called", "take its sys.exit away"
    return (
        f"{script} did not come to its end: {execution.detail or execution.status}",
        "give it more time with --timeout",
    )

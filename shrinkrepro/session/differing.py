"""``--differs``: two expressions of a script that does not fail, compared in a line of its own.

Decision: what is compared is what the user wrote; a conversion is added only where assert_close could not compare the
two at all, and it is the one that leaves the tolerance to the tensor's own dtype.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

from shrinkrepro.core import comparing
from shrinkrepro.core.comparing import Compared, ExpressionError
from shrinkrepro.errors import NotFailingError, UsageError
from shrinkrepro.protocol import EXCEPTION, OK, Execution
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.target import Target

_MARK = "shrinkrepro-compared"
_INCOMPARABLE = ("TypeError", "ValueError")
_ATTRIBUTES = ("dtype", "device", "layout")
_HINT = "give two tensors, two numbers, or lists of them"

# Run in the script's own place: what the two values are, and how far apart.
_PROBE = """\
def _shrinkrepro_probe(got, want):
    import json, sys
    import torch
    def kind(value):
        if isinstance(value, torch.Tensor):
            found = {"kind": "tensor", "shape": list(value.shape), "dtype": str(value.dtype)}
            return {**found, "device": str(value.device)}
        if isinstance(value, (bool, int, float, complex)):
            return {"kind": "number", "type": type(value).__name__}
        if isinstance(value, (list, tuple)) and value and all(isinstance(v, torch.Tensor) for v in value):
            return {"kind": "tensors", "shape": [len(value), *value[0].shape]}
        if not isinstance(value, (str, bytes)):
            try:
                found = torch.as_tensor(value)
                return {"kind": "list", "shape": list(found.shape), "type": type(value).__name__}
            except Exception:
                pass
        return {"kind": "other", "type": type(value).__name__}
    def numbers(value):
        many = isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor)
        found = torch.stack(list(value)) if many else torch.as_tensor(value)
        return found.detach().cpu().to(torch.complex128 if found.is_complex() else torch.float64)
    said = {"kinds": [kind(got), kind(want)]}
    try:
        a, b = numbers(got), numbers(want)
        distance = (a - b).abs()
        said["largest"] = distance.max().item() if distance.numel() else 0.0
        types = [v.dtype for v in (got, want) if isinstance(v, torch.Tensor)] or [torch.float64]
        coarse = min(types, key=lambda d: -torch.finfo(d).eps if d.is_floating_point else 0)
        torch.testing.assert_close(a.to(coarse), b.to(coarse), equal_nan=False)
        said["close"] = True
    except AssertionError:
        said["close"] = False
    except Exception:
        pass
    sys.stderr.write("\\n%s %%s\\n" %% json.dumps(said))
_shrinkrepro_probe(%s, %s)
"""


def compared(source: str, differs: Sequence[str], got: str = "", want: str = "", options: str = "") -> Compared:
    """``source`` with the comparison of ``differs``, or of ``got`` and ``want`` made of them.

    Raises:
        UsageError: an expression or a name in it is wrong.
    """
    try:
        first, second = (comparing.expression(text) for text in differs)
        name = comparing.torch_name(source)
        call = f"{name or 'torch'}.testing.assert_close({got or first}, {want or second}{options})"
        return comparing.with_lines(source, [call] if name else ["import torch", call], (first, second))
    except ExpressionError as error:
        raise UsageError(f"--differs: {error}", error.hint) from None


def settled(
    source: str, differs: tuple[str, str], made: Compared, fresh: Execution, target: Target, limit: float
) -> tuple[str, Execution]:
    """The text whose failure is that the two values differ, and its fresh run; ``fresh`` is the run of ``made``.

    Raises:
        UsageError: the two cannot be compared, or the script fails before they are.
        NotFailingError: they agree.
    """
    names = " and ".join(differs)
    if fresh.status == EXCEPTION and not _at(made, fresh, target):
        raised = fresh.chain[-1]
        raise UsageError(
            f"the script fails before {names} are compared: {_said(raised.type, raised.message)}",
            "leave --differs out to reduce that failure",
        )
    if fresh.status == EXCEPTION and not _compares(fresh):
        raise _bad_value(source, fresh)
    if fresh.status not in (OK, EXCEPTION) or (fresh.status == EXCEPTION and _settles(fresh)):
        return made.text, fresh
    found = _probe(source, differs, target, limit)
    if found is None:
        raise UsageError(f"the line that compares {names} is never reached", "name values of the script's own level")
    if fresh.status == OK:
        raise _agree(differs, found)
    got, want, options = _conversion(differs, found, comparing.torch_name(source) or "torch")
    again = compared(source, differs, got, want, options)
    if again.text == made.text:
        return made.text, fresh
    fresh = run_fresh(target, again.text, limit)
    if fresh.status == OK:
        raise _agree(differs, found)
    if fresh.status == EXCEPTION and not _settles(fresh):
        raise UsageError(f"--differs: {names} cannot be compared: {_kinds(found)}", _HINT)
    return again.text, fresh


def _at(made: Compared, fresh: Execution, target: Target) -> bool:
    frames = fresh.chain[-1].frames if fresh.chain else ()
    return any(not f.lib and f.line == made.line and f.file == target.script_path.name for f in frames)


def _compares(fresh: Execution) -> bool:
    return any(frame.function == "assert_close" for raised in fresh.chain for frame in raised.frames)


def _settles(fresh: Execution) -> bool:
    """Whether assert_close found what the user means: not that the two are of different kinds."""
    raised = fresh.chain[-1]
    if raised.type.rpartition(".")[2] in _INCOMPARABLE:
        return False
    return not any(f"'{name}' do not match" in raised.message for name in _ATTRIBUTES) and not re.match(
        r"(None mismatch|The \(d\)types|Booleans|Object comparison)", raised.message
    )


def _bad_value(source: str, fresh: Execution) -> UsageError:
    raised = fresh.chain[-1]
    named = re.match(r"name '(\w+)' is not defined", raised.message)
    near = comparing.nearest(named[1], source) if named else ()
    own = [name for name in near if named and name != named[1]]
    hint = f"did you mean {' or '.join(own)}?" if own else "the expressions are evaluated after the script's own code"
    return UsageError(f"--differs: the values cannot be had: {_said(raised.type, raised.message)}", hint)


def _said(kind: str, message: str) -> str:
    return f"{kind}: {message.strip().splitlines()[0]}" if message.strip() else kind


def _probe(source: str, differs: tuple[str, str], target: Target, limit: float) -> dict[str, Any] | None:
    first, second = (comparing.expression(text) for text in differs)
    lines = (_PROBE % (_MARK, first, second)).splitlines()
    text = comparing.with_lines(source, lines, (first, second)).text
    said = run_fresh(target, text, limit).stderr.rpartition(_MARK)
    found: dict[str, Any] | None = json.loads(said[2].splitlines()[0]) if said[1] else None
    return found


def _agree(differs: tuple[str, str], found: dict[str, Any]) -> NotFailingError:
    largest = found.get("largest")
    apart = f"they differ by {largest:.3g} at most" if isinstance(largest, float) and largest else "they are equal"
    return NotFailingError(
        f"{' and '.join(differs)} agree: {apart} ({_kinds(found)})",
        "assert_close's own tolerance decides; shrinkrepro check lists the pairs that differ",
    )


def _kinds(found: dict[str, Any]) -> str:
    def words(kind: dict[str, Any]) -> str:
        if kind["kind"] in ("tensor", "tensors", "list"):
            name = kind.get("dtype", kind.get("type", "list of tensors")).removeprefix("torch.")
            return f"{name} of shape {tuple(kind['shape'])}"
        return str(kind["type"])

    return " against ".join(words(kind) for kind in found["kinds"])


def _conversion(differs: tuple[str, str], found: dict[str, Any], torch: str) -> tuple[str, str, str]:
    """The two arguments and the options with which assert_close can compare them; ``torch``: its name there."""
    texts = comparing.expression(differs[0]), comparing.expression(differs[1])
    kinds = found["kinds"]
    if "other" in (kinds[0]["kind"], kinds[1]["kind"]):
        raise UsageError(f"--differs: {' and '.join(differs)} cannot be compared: {_kinds(found)}", _HINT)
    if kinds[0]["kind"] == kinds[1]["kind"] == "tensor":
        options = ", check_device=False" if kinds[0]["device"] != kinds[1]["device"] else ""
        if kinds[0]["dtype"] != kinds[1]["dtype"] and found.get("close") is False:
            options += ", check_dtype=False"
        return *texts, options
    if kinds[0]["kind"] == kinds[1]["kind"] == "number":
        function = "complex" if "complex" in (kinds[0]["type"], kinds[1]["type"]) else "float"
        got, want = (_called(function, text, k["type"] == function) for text, k in zip(texts, kinds))
        return got, want, ""
    tensor = next((i for i in (0, 1) if kinds[i]["kind"] == "tensor"), None)
    stacked = [f"{torch}.stack({_argument(t)})" if k["kind"] == "tensors" else t for t, k in zip(texts, kinds)]
    if tensor is None:
        made = [s if k["kind"] == "tensors" else f"{torch}.as_tensor({t})" for s, t, k in zip(stacked, texts, kinds)]
        return made[0], made[1], ", check_dtype=False"
    other = kinds[1 - tensor]
    if other["kind"] == "number":
        stacked[1 - tensor] = f"{torch}.full_like({texts[tensor]}, {texts[1 - tensor]})"
    elif other["kind"] == "list":
        device = "" if kinds[tensor]["device"] == "cpu" else f", device={kinds[tensor]['device']!r}"
        dtype = kinds[tensor]["dtype"].partition(".")[2]
        stacked[1 - tensor] = f"{torch}.as_tensor({texts[1 - tensor]}, dtype={torch}.{dtype}{device})"
    return stacked[0], stacked[1], ""


def _called(function: str, text: str, already: bool) -> str:
    return text if already else f"{function}({text})"


def _argument(text: str) -> str:
    return text if isinstance(ast.parse(text, mode="eval").body, ast.Name) else f"list({text})"

"""What a check that failed has compared: how its two values differ, and by how much.

Decision: the values are taken from the frames that the failure left behind, so no function of torch's is wrapped and
the program runs as it is; a check whose values cannot be told from its line is left undescribed.
"""

from __future__ import annotations

import ast
import math
import re
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from shrinkrepro.target import raised

STRUCTURE, SHAPE, DTYPE, NAN, BOTH_NAN, INF, ZERO, SIGN, VALUE = (
    "structure",
    "shape",
    "dtype",
    "nan",
    "nan on both sides",
    "inf",
    "zero",
    "sign",
    "value",
)
_ATTRIBUTE = re.compile(r"The values for attribute '(\w+)' do not match")  # told before values are looked at
_COMPARISON = "torch/testing/_comparison.py"
_CHECKS = ("allclose", "equal", "isclose", "eq", "array_equal", "assert_allclose", "assert_equal", "assert_close")
_EPSILON = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1.2e-7, "float64": 2.3e-16}


def difference_of(error: BaseException, source: str, path: str) -> Optional[Dict[str, Any]]:
    """How the values differ that the failed check ``error`` compared: ``kind``, ``relative`` (the largest difference
    over the largest value, both of one pair), ``dtype`` and ``noise`` (``relative`` in roundings of that dtype)."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(error, AssertionError):
        return None
    told = _ATTRIBUTE.search(raised.message_of(error))
    if told:
        return _found(told[1], 1.0, "")
    generator = torch.default_generator
    state = generator.get_state()
    try:
        with torch.no_grad():
            found = [_difference(torch, a, b) for a, b in _compared(torch, error, source, path)]
    except Exception:  # the program's own objects may do anything
        return None
    finally:
        generator.set_state(state)
    differing = [one for one in found if one is not None]
    return max(differing, key=lambda one: (one["relative"], one["kind"])) if differing else None


def _compared(torch: Any, error: BaseException, source: str, path: str) -> List[Tuple[Any, Any]]:
    trace, own = error.__traceback__, None
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.replace("\\", "/").endswith(_COMPARISON) and code.co_name == "assert_close":
            given = trace.tb_frame.f_locals
            return list(_pairs(torch, given["actual"], given["expected"]))
        if code.co_filename == path:
            own = (trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    if own is None:
        return []
    frame, line = own
    pairs: List[Tuple[Any, Any]] = []
    for left, right in _operands(source, line):
        values = [
            eval(compile(ast.Expression(e), path, "eval"), frame.f_globals, frame.f_locals) for e in (left, right)
        ]
        pairs += _pairs(torch, *values)
    return pairs


def _operands(source: str, line: int) -> Iterator[Tuple[ast.expr, ast.expr]]:
    """The expressions that the ``assert`` at ``line``, or the condition over a ``raise`` there, compares."""
    checks = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Assert, ast.If))]
    tests = [node.test for node in checks if _decides(node, line)][-1:]
    for node in (part for test in tests for part in ast.walk(test)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in _CHECKS and len(node.args) >= 2:
                yield node.args[0], node.args[1]
            elif name in _CHECKS and len(node.args) == 1 and isinstance(node.func, ast.Attribute):
                yield node.func.value, node.args[0]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            if isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
                yield node.left, node.comparators[0]
            elif isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                yield from _subtracted(node)


def _decides(node: Union[ast.Assert, ast.If], line: int) -> bool:
    if isinstance(node, ast.If):
        return any(isinstance(s, ast.Raise) and s.lineno <= line <= (s.end_lineno or line) for s in node.body)
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _subtracted(test: ast.Compare) -> Iterator[Tuple[ast.expr, ast.expr]]:
    for side in (test.left, test.comparators[0]):
        for part in ast.walk(side):
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
                yield part.left, part.right
                return


def _pairs(torch: Any, left: Any, right: Any) -> Iterator[Tuple[Any, Any]]:
    """The pairs of values at the same places of two trees; the trees themselves where they are not alike."""
    if isinstance(left, dict) and isinstance(right, dict) and set(left) == set(right):
        for key in left:
            yield from _pairs(torch, left[key], right[key])
    elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)) and len(left) == len(right):
        for one, other in zip(left, right):
            yield from _pairs(torch, one, other)
    else:
        yield left, right


def _difference(torch: Any, left: Any, right: Any) -> Optional[Dict[str, Any]]:
    numbers = (bool, int, float, complex)
    tensors = [isinstance(value, torch.Tensor) for value in (left, right)]
    if not all(tensor or isinstance(value, numbers) for tensor, value in zip(tensors, (left, right))):
        try:
            left, right = torch.as_tensor(left), torch.as_tensor(right)
        except Exception:
            return _found(STRUCTURE, 1.0, "") if left is not right and type(left) is not type(right) else None
    elif not all(tensors):
        like = left if tensors[0] else right if tensors[1] else None
        dtype = like.dtype if like is not None else torch.float64
        left, right = (v if t else torch.as_tensor(v) for t, v in zip(tensors, (left, right)))
        if like is not None or (not left.is_complex() and not right.is_complex()):
            left, right = (v if v.is_complex() else v.to(dtype) for v in (left, right))
    if left.shape != right.shape and all(tensors):
        try:
            left, right = torch.broadcast_tensors(left, right)
        except RuntimeError:
            return _found(SHAPE, 1.0, str(left.dtype))
    one, other = (_plain(torch, value) for value in (left, right))
    if one.shape != other.shape:
        one, other = torch.broadcast_tensors(one, other)
    kind, relative = _kind(torch, one, other)
    if kind is None and left.dtype != right.dtype:
        kind, relative = DTYPE, 1.0
    lower = min((str(v.dtype).replace("torch.", "") for v in (left, right)), key=lambda d: -_EPSILON.get(d, 0.0))
    return None if kind is None else _found(kind, relative, lower)


def _found(kind: str, relative: float, dtype: str) -> Dict[str, Any]:
    epsilon = _EPSILON.get(dtype)
    return {"kind": kind, "relative": relative, "dtype": dtype, "noise": relative / epsilon if epsilon else None}


def _plain(torch: Any, value: Any) -> Any:
    value = value.detach()
    if value.layout is not torch.strided:
        value = value.to_dense()
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    return value.to(device="cpu", dtype=torch.float64)


def _kind(torch: Any, one: Any, other: Any) -> Tuple[Optional[str], float]:
    nan = one.isnan(), other.isnan()
    if (nan[0] != nan[1]).any():
        return NAN, 1.0
    inf = one.isinf(), other.isinf()
    if ((inf[0] != inf[1]) | (inf[0] & (one != other))).any():
        return INF, 1.0
    fine = ~(nan[0] | inf[0])
    one, other = one[fine], other[fine]
    gap = (one - other).abs()
    scale = max(float(v.abs().max()) if v.numel() else 0.0 for v in (one, other))
    largest = float(gap.max()) if gap.numel() else 0.0
    if not largest or not math.isfinite(scale):
        return (BOTH_NAN, 1.0) if nan[0].any() else (None, 0.0)
    relative = largest / scale
    differing = gap > largest * 1e-3
    first, second = one[differing], other[differing]
    if not first.any() or not second.any():
        return ZERO, relative
    if float((first + second).abs().max()) <= 1e-3 * largest:
        return SIGN, relative
    return VALUE, relative

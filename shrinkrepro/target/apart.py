"""How far a transform's result is from its reference, leaf by leaf.

Decision: the tolerance is assert_close's own, and what exceeds it counts only beyond ten times the reference's own
noise, which other runs of the reference show: with inputs moved by a rounding, and in float64.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import torch
from torch.utils._pytree import tree_flatten

TOLERANCES = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5)}
EXACT = (1e-7, 1e-7)
NOISE = 10.0  # times the reference's own error is no finding
ROUNDINGS = 64.0  # of an element's own size are no finding
SHOWN = 4  # elements of a value that are told


class Gap(NamedTuple):
    """The first leaf that differs. ``error`` is relative to the reference's largest value."""

    kind: str
    leaf: int
    error: float
    actual: List[Any]
    expected: List[Any]


def leaves(tree: Any) -> List[Any]:
    """The leaves of ``tree`` as values that stay what they are: tensors without a graph, in storage of their own."""
    return [_plain(leaf) for leaf in tree_flatten(tree)[0]]


def gap(actual: Sequence[Any], expected: Sequence[Any], attributes_only: bool = False) -> Optional[Gap]:
    """The first difference that exceeds the tolerance; None where there is none or nothing can be compared."""
    if len(actual) != len(expected):
        return None
    for number, (one, other) in enumerate(zip(actual, expected)):
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
            continue
        if one.shape != other.shape:
            return Gap("shape", number, 1.0, list(one.shape), list(other.shape))
        if one.dtype != other.dtype:
            return Gap("dtype", number, 1.0, [str(one.dtype)], [str(other.dtype)])
        found = None if attributes_only else _differing(one, other)
        if found is not None:
            return _told(number, one, other, found)
    return None


def beyond_noise(found: Gap, actual: Sequence[Any], expected: Sequence[Any], others: Sequence[Sequence[Any]]) -> bool:
    """Whether the difference ``found`` is more than what ``others``, further runs of the reference, show of noise."""
    one, other = actual[found.leaf], expected[found.leaf]
    rivals = [o[found.leaf] for o in others if len(o) > found.leaf and isinstance(o[found.leaf], torch.Tensor)]
    rivals = [r for r in rivals if r.shape == other.shape]
    if found.kind in ("shape", "dtype"):
        return True
    differing = _differing(one, other)
    if differing is None:
        return False
    if not (other.is_floating_point() or other.is_complex()):
        return not any(torch.equal(r.to(other.dtype)[differing], one[differing]) for r in rivals)
    a, b = _reals(one), _reals(other)
    values = [_reals(r) for r in rivals]
    if found.kind in ("nan", "inf"):
        odd = ~a.isfinite() & b.isfinite()
        return bool(odd.any()) and all(bool(v[odd].isfinite().all()) for v in values)
    fine = a.isfinite() & b.isfinite()
    for v in values:
        fine &= v.isfinite()
    noise = max([float((v - b)[fine].abs().max()) for v in values if bool(fine.any())], default=0.0)
    scale = float(b[fine].abs().max()) if bool(fine.any()) else 0.0
    epsilon = torch.finfo(other.dtype).eps
    roundings = ROUNDINGS if epsilon < 1e-5 else 4.0
    limit = NOISE * noise + epsilon * (roundings * b.abs() + roundings / 4 * scale)
    return bool((((a - b).abs() > limit) & fine).any())


def of_numbers(actual: float, expected: float) -> Gap:
    """The gap between two numbers, of which the second is finite."""
    shown = [[_number(actual)], [expected]]
    if actual - actual != 0:
        return Gap("nan" if actual != actual else "inf", 0, 1.0, *shown)
    error = abs(actual - expected) / max(abs(actual), abs(expected))
    kind = "zero" if actual == 0 else "sign" if abs(actual + expected) < 1e-3 * abs(expected) else "value"
    return Gap(kind, 0, error, *shown)


def relative_error(actual: Sequence[Any], expected: Sequence[Any]) -> float:
    """The largest difference of any leaf over the largest value of that leaf, where both are finite."""
    worst = 0.0
    for one, other in zip(actual, expected):
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor) or one.shape != other.shape:
            continue
        if not (one.is_floating_point() or one.is_complex()) or not one.numel():
            continue
        a, b = _reals(one), _reals(other)
        if a.shape != b.shape:
            continue
        fine = a.isfinite() & b.isfinite()
        if bool(fine.any()):
            scale = max(float(b[fine].abs().max()), float(a[fine].abs().max()))
            worst = max(worst, float((a - b)[fine].abs().max()) / scale if scale else 0.0)
    return worst


def is_symmetric(value: Any) -> bool:
    """Whether ``value`` is a symmetric matrix, or a batch of them."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.dim() < 2:
        return False
    return value.shape[-1] == value.shape[-2] > 1 and bool(torch.equal(value.detach(), value.detach().mT))


def symmetrised(values: Sequence[Any], size: int) -> List[Any]:
    """Derivatives for symmetric matrices of ``size`` rows, on these alone: forward and reverse mode differ in how they
    go on where a factorisation reads one triangle."""
    return [_symmetrised(v, size) if isinstance(v, torch.Tensor) else v for v in values]


def _symmetrised(value: Any, size: int) -> Any:
    for dim in (-2, -4):
        if value.dim() >= -dim and value.shape[dim] == value.shape[dim + 1] == size:
            value = (value + value.transpose(dim, dim + 1)) / 2
    return value


def told(found: Gap) -> Dict[str, Any]:
    """The gap as JSON types."""
    return {"kind": found.kind, "actual": found.actual, "expected": found.expected, "error": found.error}


def _differing(one: Any, other: Any) -> Any:
    """Where two tensors of one shape and dtype differ; None where they do not."""
    if not one.numel():
        return None
    if not (one.is_floating_point() or one.is_complex()):
        mask = one != other
        return mask if bool(mask.any()) else None
    a, b = _reals(one), _reals(other)
    if b.isnan().any() and not a.isnan().any():
        b = torch.where(b.isnan(), a, b)  # the reference's own weakness, such as 0 * inf in a second backward
    rtol, atol = TOLERANCES.get(one.dtype, EXACT)
    mask = ~torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    return mask if bool(mask.any()) else None


def _told(number: int, one: Any, other: Any, mask: Any) -> Gap:
    if not (one.is_floating_point() or one.is_complex()):
        return Gap("value", number, 1.0, one[mask][:SHOWN].tolist(), other[mask][:SHOWN].tolist())
    a, b = _reals(one)[mask], _reals(other)[mask]
    shown = [[_number(v) for v in values[:SHOWN].tolist()] for values in (a, b)]
    if bool((a.isnan() & ~b.isnan()).any()):
        return Gap("nan", number, 1.0, *shown)
    fine = a.isfinite() & b.isfinite()
    if not bool(fine.any()):
        return Gap("inf", number, 1.0, *shown)
    a, b = a[fine], b[fine]
    scale = max(float(_reals(other)[_reals(other).isfinite()].abs().max()), 1e-300)
    error = float((a - b).abs().max()) / scale
    kind = "zero" if not bool(a.any()) else "value"
    if float((a + b).abs().max()) <= 1e-3 * float(b.abs().max()):
        kind = "sign"
    return Gap(kind, number, error, *shown)


def _plain(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    with torch.no_grad():
        value = value.detach()
        if value.layout is not torch.strided:
            value = value.to_dense()
        return value.resolve_conj().resolve_neg().clone().cpu()


def _reals(value: Any) -> Any:
    value = torch.view_as_real(value) if value.is_complex() else value
    return value.to(torch.float64)


def _number(value: float) -> Any:
    return value if value - value == 0 else repr(value)

"""Derivatives by finite differences, where plain autograd itself is what is wrong.

Decision: five points, whose error is small enough in float64 that a derivative of a derivative still passes a script's
own check; where a kink or a lower precision makes them wrong, a program does not pass, and they are not its control.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Sequence, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from shrinkrepro.target import plain

_FINE = 1e-3  # balances rounding, eps / step, and the fifth derivative times step ** 4
STEPS = {torch.float64: _FINE, torch.complex128: _FINE}
KINK, SMALL = 0.05, 1e-4  # two slopes of one smooth function differ by less: of the larger, and in all
COARSE_STEP = 2e-2  # for lower precisions


def pushed(func: Callable[..., Any], primals: Tuple[Any, ...], has_aux: bool) -> Tuple[Any, ...]:
    """The output of ``func``, the function that pushes tangents forward, and any aux."""
    result = plain.differentiable(func, primals, {})
    output, aux = result if has_aux else (result, None)
    leaves, spec = tree_flatten(primals)

    def at(tangents: List[Any], step: float) -> List[Any]:
        moved = [x + step * t if _moves(x) else x for x, t in zip(leaves, tangents)]
        values = plain.differentiable(func, tree_unflatten(moved, spec), {})
        return list(tree_flatten(values[0] if has_aux else values)[0])

    def push(*tangents: Any) -> Any:
        directions = tree_flatten(tangents)[0]
        sizes = [t.abs().max().item() for x, t in zip(leaves, directions) if _moves(x) and t.numel()]
        flat, out_spec = tree_flatten(output)
        if not any(sizes):
            return tree_map(lambda y: torch.zeros_like(y) if isinstance(y, torch.Tensor) else y, output)
        step = min(STEPS.get(x.dtype, COARSE_STEP) for x in leaves if _moves(x)) / max(sizes)
        two, one, back, back_two = (at(directions, k * step) for k in (2, 1, -1, -2))
        slopes = [  # a function that is not finite there has no slope either
            _slope(y, one[k], two[k], back[k], back_two[k], step) + 0 * y
            if _moves(y)
            else (torch.zeros_like(y) if isinstance(y, torch.Tensor) else y)
            for k, y in enumerate(flat)
        ]
        return tree_unflatten(slopes, out_spec)

    return (output, push, aux) if has_aux else (output, push)


def _slope(here: Any, one: Any, two: Any, back: Any, back_two: Any, step: float) -> Any:
    """The slope at each element from five points; where they tell of a kink, that of the one side that is smooth."""
    slope = (8 * (one - back) - (two - back_two)) / (12 * step)
    if slope.is_complex():
        return slope
    kink = _apart((one - back) / (2 * step), (two - back_two) / (4 * step))
    if not kink.any():
        return slope
    left, right = (
        ((here - back) / step, (here - back_two) / (2 * step)),
        ((one - here) / step, (two - here) / (2 * step)),
    )
    rough_left, rough_right = _apart(*left), _apart(*right)
    slope = torch.where(kink & rough_right & ~rough_left, 2 * left[0] - left[1], slope)
    return torch.where(kink & rough_left & ~rough_right, 2 * right[0] - right[1], slope)


def _apart(near: Any, far: Any) -> Any:
    return (near - far).abs() > KINK * torch.maximum(near.abs(), far.abs()) + SMALL


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The output of ``func`` and the function that pulls cotangents back, by a column for each element."""
    output, push, *aux = pushed(func, primals, has_aux)
    leaves, spec = tree_flatten(primals)
    columns: List[List[Any]] = []

    def pullback(cotangents: Any, retain_graph: bool = True, create_graph: Any = None) -> Any:
        if not columns:
            columns.extend(tree_flatten(push(*tree_unflatten(unit, spec)))[0] for unit in _units(leaves))
        given = tree_flatten(cotangents)[0]
        sums = iter([sum(_product(c, y) for c, y in zip(given, column)) for column in columns])
        gradients = []
        for leaf in leaves:
            if not _moves(leaf):
                gradients.append(torch.zeros_like(leaf) if isinstance(leaf, torch.Tensor) else leaf)
                continue
            parts = [[next(sums) for _ in range(leaf.numel())] for _ in _directions(leaf)]
            whole = [torch.stack(part).reshape(leaf.shape) if part else torch.zeros_like(leaf) for part in parts]
            gradients.append((torch.complex(*whole) if len(whole) > 1 else whole[0]).to(leaf.dtype))
        return tree_unflatten(gradients, spec)

    return (output, pullback, *aux)


def _units(leaves: Sequence[Any]) -> Iterator[List[Any]]:
    """For each element of each leaf that moves, a direction; for a complex one, one along each axis."""
    still = [torch.zeros_like(x) if isinstance(x, torch.Tensor) else x for x in leaves]
    for position, leaf in enumerate(leaves):
        for size in _directions(leaf) if _moves(leaf) else ():
            for index in range(leaf.numel()):
                unit = torch.zeros(leaf.shape, dtype=leaf.dtype, device=leaf.device)
                unit.view(-1)[index] = size
                yield [*still[:position], unit, *still[position + 1 :]]


def _directions(leaf: Any) -> Tuple[complex, ...]:
    return (1.0, 1.0j) if leaf.is_complex() else (1.0,)


def _product(cotangent: Any, value: Any) -> Any:
    """The real inner product: what the direction that ``value`` comes from adds to the gradient."""
    product = (cotangent.conj() * value).sum() if _moves(value) else torch.zeros(())
    return product.real if product.is_complex() else product


def _moves(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())

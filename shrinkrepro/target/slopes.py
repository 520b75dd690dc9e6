"""Reverse and forward mode by plain autograd that is itself held against finite differences, level by level.

Decision: one random direction a derivative, in float64, so a check costs a few calls of the function however large its
inputs are. A kink must not pass for a bug: two step sizes have to agree, and the slopes nearby on both sides must lead
to the slope at the point. A symmetric matrix is moved within the symmetric ones, where alone its factors are defined.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from shrinkrepro.target import apart, reverse
from shrinkrepro.target.forward import twice

STEPS = (2e-4, 1e-4)
STEADY = 1e-5  # of the slope: how well two step sizes agree where a function is smooth
WRONG = 5e-3  # of the slope
NEARBY = 2e-3  # beyond the steps in each direction: where the slope is looked at again
SMOOTH = 0.05  # of what the derivative is off by: how well the slopes nearby lead to the slope
CHECKS = 12  # in one run


class Slopes:
    """The checked transforms of one run, and what they found: pairs of a derivative and the slope it should be."""

    def __init__(self) -> None:
        self.wrong: List[Tuple[float, float]] = []
        self.checked = 0
        self._left = CHECKS
        self._directions: List[Any] = []
        self._off = False
        self._generator = torch.Generator().manual_seed(5)
        self._twice = twice(reverse.vjp)

    def vjp(self, func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
        """As ``reverse.vjp``; what is pulled back is checked."""
        output, pullback, *aux = reverse.vjp(func, *primals, has_aux=has_aux)
        seen = [False]

        def pull(cotangents: Any, *args: Any, **kwargs: Any) -> Any:
            pulled = pullback(cotangents, *args, **kwargs)
            if not seen[0]:
                seen[0] = True
                self._check(func, has_aux, primals, output)
            return pulled

        return (output, pull, *aux)

    def pushed(self, func: Callable[..., Any], primals: Tuple[Any, ...], has_aux: bool) -> Tuple[Any, ...]:
        """As ``forward.twice`` of plain autograd; the function's slope is checked."""
        made = self._twice(func, primals, has_aux)
        self._check(func, has_aux, primals, made[0])
        return made

    def _check(self, func: Callable[..., Any], has_aux: bool, primals: Any, output: Any) -> None:
        if self._off or not self._left:
            return
        self._left -= 1
        self._off = True
        try:
            primals = _detached(primals)
            weights = tree_map(self._like, _detached(output))
            found = self._at(func, has_aux, primals, weights)
            if found is None:
                return
            self.checked += 1
            if not _wrong(*found):
                return
            if self._is_smooth(func, has_aux, primals, weights, *found):
                self.wrong.append(found)
        finally:
            self._off = False

    def _at(self, func: Callable[..., Any], has_aux: bool, primals: Any, weights: Any) -> Optional[Tuple[float, float]]:
        """The derivative along a random direction and the slope there; None where there is no clear slope."""
        flat = tree_flatten(primals)[0]
        if not any(_moves(x) for x in flat) or any(isinstance(x, torch.Tensor) and x.is_complex() for x in flat):
            return None
        self._directions = [self._like(x) for x in flat]
        slope = self._slope(func, has_aux, primals, weights)
        if slope is None:
            return None
        gradients = tree_flatten(reverse.vjp(func, *primals, has_aux=has_aux)[1](weights))[0]
        total = sum(float((g * u).sum()) for g, u, x in zip(gradients, self._directions, flat) if _moves(x))
        return total, slope

    def _slope(self, func: Callable[..., Any], has_aux: bool, primals: Any, weights: Any) -> Optional[float]:
        """The slope along the present direction, where two steps agree on one."""
        factors = tree_flatten(weights)[0]

        def height(distance: float) -> float:
            with torch.enable_grad():  # a function may ask whether its inputs require a gradient
                result = func(*self._moved(primals, self._directions, distance))
            values = tree_flatten(result[0] if has_aux else result)[0]
            return sum(float((w * v).sum()) for w, v in zip(factors, values) if _moves(v) and _moves(w))

        slopes = []
        for step in STEPS:
            two, one, back, back_two = (height(k * step) for k in (2, 1, -1, -2))
            slopes.append((8 * (one - back) - (two - back_two)) / (12 * step))
        rounding = 1e-10 * abs(height(0.0))
        steady = abs(slopes[0] - slopes[1]) <= STEADY * max(map(abs, slopes)) + rounding
        return slopes[1] if (steady and abs(slopes[1]) > 1e2 * rounding) or slopes == [0.0, 0.0] else None

    def _is_smooth(
        self, func: Callable[..., Any], has_aux: bool, primals: Any, weights: Any, derivative: float, slope: float
    ) -> bool:
        """Whether the slopes on both sides of a point lead to the slope there: else it is a kink, whose two slopes are
        further apart than the derivative is from the slope between them."""
        towards = [self._like(x) for x in tree_flatten(primals)[0]]
        sizes = [slope]
        for side in (NEARBY, -NEARBY):
            near = [_detached(self._moved(primals, towards, k * side)) for k in (1, 2, 3)]
            one, two, three = (self._slope(func, has_aux, point, weights) for point in near)
            if one is None or two is None or three is None:
                return False
            sizes.append(3 * one - 3 * two + three)
        off = abs(derivative - slope)
        return max(sizes) - min(sizes) <= SMOOTH * (off if off < float("inf") else max(map(abs, sizes)))

    def _moved(self, primals: Any, directions: List[Any], distance: float) -> Any:
        flat, spec = tree_flatten(primals)
        moved = [(x + distance * u).requires_grad_() if _moves(x) else x for x, u in zip(flat, directions)]
        return tree_unflatten(moved, spec)

    def _like(self, value: Any) -> Any:
        if not _moves(value):
            return value
        drawn = torch.rand(value.shape, generator=self._generator, dtype=torch.float64)
        signs = torch.randint(0, 2, value.shape, generator=self._generator) * 2 - 1
        direction = ((0.25 + 0.75 * drawn) * signs).to(device=value.device, dtype=value.dtype)
        return (direction + direction.mT) / 2 if apart.is_symmetric(value) else direction


def _wrong(derivative: float, slope: float) -> bool:
    """Also where the derivative is not a number."""
    return not abs(derivative - slope) <= WRONG * max(abs(derivative), abs(slope))


def _moves(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _detached(tree: Any) -> Any:
    return tree_map(lambda v: v.detach() if isinstance(v, torch.Tensor) else v, tree)

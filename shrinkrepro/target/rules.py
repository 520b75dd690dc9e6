"""The derivative rules that a program writes for its own Functions, held against what their forward computes.

Decision: a program whose own rule is wrong differs from every reference, so a reduction that breaks a rule would pass
for a bug of the library. Where the original's rules are right, those of the programs made from it must be too. A rule
that cannot be checked here (its forward cannot be differentiated through) counts as right.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch
from torch.utils._pytree import tree_flatten

from shrinkrepro.target.without_backward import through_forward

CHECKS = 24  # calls of each Function that are looked at
TOLERANCE = 1e-3  # of the largest value: a rule is wrong or it is not, and float32 may be all there is

_base = torch.autograd.Function
_make_dual, _unpack_dual = torch.autograd.forward_ad.make_dual, torch.autograd.forward_ad.unpack_dual
_grad, _vmap = torch.autograd.grad, torch.func.vmap
_dual_level = torch.autograd.forward_ad.dual_level


class WrongRuleError(AssertionError):
    """A Function's own rule gives another result than its forward differentiated through."""


def apply_checked(original: Any, then: Any) -> Any:
    """``Function.apply`` that looks at the rules of each class first, and goes on with ``then``."""
    checked: Dict[type, int] = {}
    running: List[bool] = []

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if not running and checked.get(cls, 0) < CHECKS:
            checked[cls] = checked.get(cls, 0) + 1
            state = torch.default_generator.get_state()
            running.append(True)
            try:
                _check(cls, original, args, kwargs)
            finally:
                running.pop()
                torch.default_generator.set_state(state)
        return then.__func__(cls, *args, **kwargs)

    return classmethod(apply)


def _check(cls: Any, original: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
    places = [k for k, arg in enumerate(args) if isinstance(arg, torch.Tensor) and arg.is_floating_point()]
    values = [args[k].detach().clone() for k in places]
    if not places or kwargs or any(v.layout is not torch.strided for v in values):
        return

    def all_ruled(*given: Any) -> List[Any]:
        return _floating(original.__func__(cls, *_put(args, places, given)))

    live = _differentiable(all_ruled, values)

    def ruled(*given: Any) -> List[Any]:
        return _chosen(all_ruled(*given), live)

    def plain(*given: Any) -> List[Any]:
        return _chosen(_floating(through_forward(cls, _put(args, places, given))), live)

    for rule, by_rule, by_forward in (
        (cls.jvp is not _base.jvp, _pushed, _pushed_twice),
        (cls.backward is not _base.backward or cls.vjp is not _base.vjp, _pulled, _pulled),
        (cls.vmap is not _base.vmap, _batched, _one_by_one),
    ):
        if not rule:
            continue
        moved = [v + 0.25 * _direction(v) for v in values]
        for point in (values, moved):  # a constant is right at one point
            try:
                with torch.enable_grad():
                    actual = by_rule(ruled, point)
                    constant = by_forward is not _one_by_one and _same(plain(*values), plain(*moved))
                    expected = [None] * len(actual) if constant else by_forward(plain, point)
            except Exception:  # cannot be checked, or fails in a way that is not about values
                continue
            if not all(_close(a, e) for a, e in zip(actual, expected)):
                raise WrongRuleError("a rule of %s is not that of its forward" % cls.__name__)


def _differentiable(function: Callable[..., Any], values: List[Any]) -> List[bool]:
    """Which of the outputs the Function did not mark as without a derivative."""
    try:
        with torch.enable_grad():
            leaves = [v.clone().requires_grad_() for v in values]
            return [output.requires_grad for output in function(*[leaf.view_as(leaf) for leaf in leaves])]
    except Exception:  # what asks for it will say so
        return []


def _chosen(outputs: List[Any], live: List[bool]) -> List[Any]:
    return [o for o, alive in zip(outputs, live) if alive] if any(live) else outputs


def _same(one: List[Any], two: List[Any]) -> bool:
    """Whether two points give the same: autograd cannot tell a constant from what it is not shown."""
    return len(one) == len(two) > 0 and all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(one, two))


def _pushed(function: Callable[..., Any], values: List[Any]) -> List[Any]:
    with _dual_level():
        outputs = function(*[_make_dual(v, _direction(v)) for v in values])
        return [_unpack_dual(output).tangent for output in outputs]


def _pushed_twice(function: Callable[..., Any], values: List[Any]) -> List[Any]:
    leaves = [v.clone().requires_grad_() for v in values]
    outputs = function(*[leaf.view_as(leaf) for leaf in leaves])
    cotangents = [torch.zeros_like(output, requires_grad=True) for output in outputs]
    pulled = _grad(outputs, leaves, cotangents, create_graph=True, allow_unused=True)
    total = sum((p * _direction(v)).sum() for p, v in zip(pulled, values) if p is not None)
    return list(_grad(total, cotangents, allow_unused=True))


def _pulled(function: Callable[..., Any], values: List[Any]) -> List[Any]:
    leaves = [v.clone().requires_grad_() for v in values]
    outputs = function(*[leaf.view_as(leaf) for leaf in leaves])
    return list(_grad(outputs, leaves, [_direction(output) for output in outputs], allow_unused=True))


def _batched(function: Callable[..., Any], values: List[Any]) -> List[Any]:
    return list(_vmap(function)(*[torch.stack([v, v * 1.25]) for v in values]))


def _one_by_one(function: Callable[..., Any], values: List[Any]) -> List[Any]:
    return [torch.stack(pair) for pair in zip(function(*values), function(*[v * 1.25 for v in values]))]


def _direction(value: Any) -> Any:
    """A fixed direction without symmetry, like ``value``."""
    steps = torch.linspace(0.5, 1.5, max(1, value.numel()), dtype=torch.float64)[: value.numel()]
    return steps.reshape(value.shape).to(device=value.device, dtype=value.dtype)


def _close(actual: Any, expected: Any) -> bool:
    if actual is None and expected is None:
        return True
    like = actual if actual is not None else expected
    actual, expected = (torch.zeros_like(like) if v is None else v.detach().double() for v in (actual, expected))
    if actual.shape != expected.shape or not actual.isfinite().all() or not expected.isfinite().all():
        return True  # no matter of factors and signs
    scale = max(1e-30, float(expected.abs().max()), float(actual.abs().max())) if actual.numel() else 1.0
    return not actual.numel() or float((actual - expected).abs().max()) <= TOLERANCE * scale


def _floating(outputs: Any) -> List[Any]:
    return [o for o in tree_flatten(outputs)[0] if isinstance(o, torch.Tensor) and o.is_floating_point()]


def _put(args: Sequence[Any], places: Sequence[int], given: Sequence[Any]) -> Tuple[Any, ...]:
    new = dict(zip(places, given))
    return tuple(new.get(k, arg) for k, arg in enumerate(args))

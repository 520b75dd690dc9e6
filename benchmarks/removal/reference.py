"""Transforms by loops and plain reverse mode: slow, obvious and, where the library is right, equal.

Forward mode is the double-backward trick: the pullback is linear in its cotangent, so its own
pullback at any point pushes tangents forward.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from benchmarks.removal.loops import compile_replacements, vmap_replacements
from benchmarks.removal.primal import functionalize
from benchmarks.removal.trees import Function, chosen, leaves, split_aux, with_aux

_depth = 0  # how many of the transforms below are at work


def _fresh(tree: Any) -> Any:
    """Copies that require grad; those of tensors that already do stay connected to them."""

    def copy(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or not (x.is_floating_point() or x.is_complex()):
            return x
        y = x.clone()
        return y if y.requires_grad else y.requires_grad_()

    return tree_map(copy, tree)


def _leaf_variables(tensor: torch.Tensor) -> set[int]:
    found: set[int] = set()
    seen: set[Any] = set()
    todo = [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.add(id(node.variable))
        todo.extend(f for f, _ in node.next_functions)
    return found


def _release(tree: Any, own: list[torch.Tensor]) -> Any:
    """Detach at the outermost level what depends on nothing but our own copies, as a transform's result would be."""
    if _depth:
        return tree
    mine = {id(x) for x in own}

    def release(x: Any) -> Any:
        if isinstance(x, torch.Tensor) and x.requires_grad and _leaf_variables(x) <= mine:
            return x.detach()
        return x

    return tree_map(release, tree)


def _call(func: Function, args: Any, kwargs: Any) -> Any:
    global _depth
    _depth += 1
    try:
        with torch.enable_grad():
            return func(*args, **kwargs)
    finally:
        _depth -= 1


def _pull(outs: list[torch.Tensor], ins: list[torch.Tensor], cotangents: list[torch.Tensor]) -> list[torch.Tensor]:
    """The vector-Jacobian product, differentiable, zeros where nothing depends."""
    pairs = [(y, c) for y, c in zip(outs, cotangents) if y.requires_grad]
    wanted = [x for x in ins if x.requires_grad]
    if not pairs or not wanted:
        return [torch.zeros_like(x) for x in ins]
    with torch.enable_grad():
        got = torch.autograd.grad(
            [y for y, _ in pairs], wanted, [c for _, c in pairs], create_graph=True, allow_unused=True
        )
    by_id = {id(x): g for x, g in zip(wanted, got)}
    found = [by_id.get(id(x)) for x in ins]
    return [torch.zeros_like(x) if g is None else g for x, g in zip(ins, found)]


def _rebuild(tree: Any, values: list[torch.Tensor]) -> Any:
    flat, spec = tree_flatten(tree)
    rest = iter(values)
    return tree_unflatten([next(rest) if isinstance(x, torch.Tensor) else x for x in flat], spec)


def _enter(args: tuple[Any, ...], argnums: Any) -> tuple[list[Any], Any]:
    new = list(args)
    for i in (argnums,) if isinstance(argnums, int) else argnums:
        new[i] = _fresh(new[i])
    return new, chosen(new, argnums)


def grad_and_value(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    def run(*args: Any, **kwargs: Any) -> Any:
        new, x = _enter(args, argnums)
        out, aux = split_aux(_call(func, new, kwargs), has_aux)
        gradient = _rebuild(x, _pull([out], leaves(x), [torch.ones_like(out)]))
        return _release((gradient, (out, *aux) if aux else out), leaves(x))

    return run


def grad(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    def run(*args: Any, **kwargs: Any) -> Any:
        gradient, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return run


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    new = _fresh(primals)
    out, aux = split_aux(_call(func, new, {}), has_aux)

    def pullback(*cotangents: Any, **kwargs: Any) -> Any:
        c = cotangents[0] if len(cotangents) == 1 else cotangents
        return _release(_rebuild(new, _pull(leaves(out), leaves(new), leaves(c))), leaves(new) + leaves(c))

    return (_release(out, leaves(new)), pullback, *_release(aux, leaves(new)))


def _push(outs: list[torch.Tensor], ins: list[torch.Tensor], tangents: list[torch.Tensor]) -> list[torch.Tensor]:
    """The Jacobian-vector product by pulling twice."""
    with torch.enable_grad():
        dummies = [torch.zeros_like(y).requires_grad_() for y in outs]
        pulled = _pull(outs, ins, dummies)
    return _pull(pulled, dummies, tangents)


def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    new = _fresh(tuple(primals))
    out, aux = split_aux(_call(func, new, {}), has_aux)
    pushed = _rebuild(out, _push(leaves(out), leaves(new), leaves(tangents)))
    return _release((out, pushed, *aux), leaves(new) + leaves(tangents))


def linearize(func: Function, *primals: Any) -> Any:
    new = _fresh(primals)
    out = _call(func, new, {})

    def pushforward(*tangents: Any) -> Any:
        return _release(_rebuild(out, _push(leaves(out), leaves(new), leaves(tangents))), leaves(new))

    return _release(out, leaves(new)), pushforward


def jacrev(func: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    """One pull for each element of the output."""

    def run(*args: Any, **kwargs: Any) -> Any:
        new, x = _enter(args, argnums)
        out, aux = split_aux(_call(func, new, kwargs), has_aux)
        ins = leaves(x)

        def rows(y: torch.Tensor) -> Any:
            basis = torch.eye(y.numel(), dtype=y.dtype, device=y.device).reshape((-1, *y.shape))
            pulled = [_pull([y], ins, [one]) for one in basis]
            stacked = [torch.stack(column).reshape((*y.shape, *i.shape)) for column, i in zip(zip(*pulled), ins)]
            return _rebuild(x, stacked)

        return _release(with_aux(tree_map(rows, out), aux), ins)

    return run


def hessian(func: Function, argnums: Any = 0) -> Function:
    return jacrev(jacrev(func, argnums), argnums)


def functional_jacobian(func: Function, inputs: Any, *options: Any, **more: Any) -> Any:
    many = isinstance(inputs, (tuple, list))
    args = tuple(inputs) if many else (inputs,)
    return jacrev(func, tuple(range(len(args))) if many else 0)(*args)


def functional_hessian(func: Function, inputs: Any, *options: Any, **more: Any) -> Any:
    many = isinstance(inputs, (tuple, list))
    args = tuple(inputs) if many else (inputs,)
    return hessian(func, tuple(range(len(args))) if many else 0)(*args)


def replacements() -> dict[str, Any]:
    """By dotted path: what the kind ``reference`` replaces."""
    result = {**vmap_replacements(), **compile_replacements()}
    transforms = {
        "grad": grad,
        "grad_and_value": grad_and_value,
        "vjp": vjp,
        "jvp": jvp,
        "linearize": linearize,
        "jacrev": jacrev,
        "jacfwd": jacrev,
        "hessian": hessian,
        "functionalize": functionalize,
    }
    holders = ("torch.func", "functorch", "torch._functorch.apis", "torch._functorch.eager_transforms")
    for holder in holders:
        result.update({f"{holder}.{name}": new for name, new in transforms.items()})
    result["torch.autograd.functional.jacobian"] = functional_jacobian
    result["torch.autograd.functional.hessian"] = functional_hessian
    return result

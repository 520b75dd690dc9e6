"""Reverse-mode transforms: vjp by plain ``torch.autograd.grad``, and grad, grad_and_value, jacrev over any vjp.

Decision: a transform's inputs become views that require a gradient, and what it returns keeps its graph only if that
leads to something which lives on (an outer transform's input, a parameter), as a transform's result would.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterator, List, Sequence, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

_differentiate = torch.autograd.grad  # as it was before any exchange


class Level:
    """The span in which a transform runs its function: while it is open, what depends on its inputs is kept."""

    is_open = True


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The output of ``func`` and the function that pulls cotangents back."""
    outside, level = torch.is_grad_enabled(), Level()
    with torch.enable_grad():
        inputs = tree_map(lambda value: _tracked(value, level), tuple(primals))
        try:
            result = func(*tree_map(_handed, inputs))
        finally:
            level.is_open = False
    output, aux = result if has_aux else (result, None)

    def pullback(cotangents: Any, retain_graph: bool = True, create_graph: Any = None) -> Any:
        keep = torch.is_grad_enabled()
        with torch.enable_grad():
            gradients = _pulled(output, inputs, cotangents)
        return settled(gradients, keep)

    shown = settled(output, outside)
    return (shown, pullback, settled(aux, outside)) if has_aux else (shown, pullback)


class Reverse:
    """The reverse-mode transforms over one ``vjp``."""

    def __init__(self, vjp: Callable[..., Any]) -> None:
        self._vjp = vjp

    def grad_and_value(self, func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
        """The gradient of a scalar function, and its value."""

        def run(*args: Any, **kwargs: Any) -> Any:
            of_chosen, chosen = restricted(func, argnums, args, kwargs)
            output, pullback, *aux = self._vjp(of_chosen, *chosen, has_aux=has_aux)
            if not isinstance(output, torch.Tensor) or output.dim():
                raise RuntimeError("the gradient of what is no scalar tensor")
            gradients = pullback(torch.ones_like(output))
            value = (output, aux[0]) if has_aux else output
            return (gradients[0] if isinstance(argnums, int) else gradients), value

        return functools.update_wrapper(run, func, updated=())

    def grad(self, func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
        """The gradient of a scalar function."""

        def run(*args: Any, **kwargs: Any) -> Any:
            gradients, value = self.grad_and_value(func, argnums, has_aux)(*args, **kwargs)
            return (gradients, value[1]) if has_aux else gradients

        return functools.update_wrapper(run, func, updated=())

    def jacrev(
        self, func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False, **options: Any
    ) -> Callable[..., Any]:
        """The Jacobian, a row at a time."""

        def run(*args: Any, **kwargs: Any) -> Any:
            of_chosen, chosen = restricted(func, argnums, args, kwargs)
            output, pullback, *aux = self._vjp(of_chosen, *chosen, has_aux=has_aux)
            leaves, spec = tree_flatten(output)
            inputs, input_spec = tree_flatten(chosen)
            rows = [tree_flatten(pullback(tree_unflatten(unit, spec)))[0] for unit in units(leaves)]
            blocks, start = [], 0
            for leaf in leaves:
                part = rows[start : start + leaf.numel()]
                start += leaf.numel()
                block = [stacked([row[k] for row in part], 0, leaf, x) for k, x in enumerate(inputs)]
                whole = tree_unflatten(block, input_spec)
                blocks.append(whole[0] if isinstance(argnums, int) else whole)
            jacobian = tree_unflatten(blocks, spec)
            return (jacobian, aux[0]) if has_aux else jacobian

        return functools.update_wrapper(run, func, updated=())


def restricted(
    func: Callable[..., Any], argnums: Any, args: Sequence[Any], kwargs: Any
) -> Tuple[Callable[..., Any], Tuple[Any, ...]]:
    """``func`` as a function of the arguments that ``argnums`` names, and those arguments."""
    numbers = [number % len(args) for number in ((argnums,) if isinstance(argnums, int) else argnums)]

    def of_chosen(*chosen: Any) -> Any:
        every = list(args)
        for number, value in zip(numbers, chosen):
            every[number] = value
        return func(*every, **kwargs)

    return of_chosen, tuple(args[number] for number in numbers)


def units(leaves: Sequence[Any]) -> Iterator[List[Any]]:
    """For each element of each tensor of ``leaves``: zeros like all of them, but a one there."""
    for position, leaf in enumerate(leaves):
        for index in range(leaf.numel()):
            unit = [torch.zeros(x.shape, dtype=x.dtype, device=x.device) for x in leaves]
            unit[position].view(-1)[index] = 1
            yield unit


def stacked(parts: Sequence[Any], dim: int, output: Any, source: Any) -> Any:
    """One Jacobian block from its rows (``dim`` 0) or columns (-1)."""
    shape = tuple(output.shape) + tuple(source.shape)
    if not parts:
        return torch.zeros(shape, dtype=output.dtype, device=output.device)
    return torch.stack(list(parts), dim).reshape(shape)


def _tracked(value: Any, level: Level) -> Any:
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return value
    if not value.requires_grad:
        value = value.detach().requires_grad_()
        value._shrinkrepro_level = level
    return value.view_as(value) if value.layout is torch.strided else value.clone()


def _handed(value: Any) -> Any:
    """A tracked input as the function gets it: it may change it in place, and then it is changed outside too."""
    if type(value) is not torch.Tensor or not value.requires_grad or value.layout is not torch.strided:
        return value
    copy = value.clone()
    copy.data = value.detach()
    return copy


def _pulled(output: Any, inputs: Any, cotangents: Any) -> Any:
    pairs = [
        (out, cotangent)
        for out, cotangent in zip(tree_flatten(output)[0], tree_flatten(cotangents)[0])
        if isinstance(out, torch.Tensor) and out.requires_grad
    ]
    leaves, spec = tree_flatten(inputs)
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    found: Sequence[Any] = [None] * len(places)
    if pairs and places:
        found = _differentiate(
            [out for out, _ in pairs],
            [leaves[k] for k in places],
            [cotangent for _, cotangent in pairs],
            retain_graph=True,
            create_graph=True,
            allow_unused=True,
        )
    gradients = [torch.zeros_like(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    for k, gradient in zip(places, found):
        if gradient is not None:
            gradients[k] = gradient
    return tree_unflatten(gradients, spec)


def settled(tree: Any, tracked: bool) -> Any:
    """``tree`` as it leaves a transform: tensors that depend on nothing which lives on have no graph."""

    def settle(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.requires_grad or (tracked and _lives_on(value)):
            return value
        return value.detach()

    return tree_map(settle, tree)


def _lives_on(tensor: Any) -> bool:
    if tensor.grad_fn is None:
        return _leaf_lives_on(tensor)
    seen, waiting = set(), [tensor.grad_fn]  # the nodes themselves: their Python objects may else be made anew
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad" and _leaf_lives_on(node.variable):
            return True
        waiting.extend(following for following, _ in node.next_functions if following is not None)
    return False


def _leaf_lives_on(leaf: Any) -> bool:
    level = getattr(leaf, "_shrinkrepro_level", None)
    return level is None or bool(level.is_open)

"""Forward-mode transforms by reverse mode twice: jvp, linearize, jacfwd, and dual numbers.

Decision: all of it is made of one function that pushes tangents forward. Over a vjp, plain autograd's or torch's own,
that is to pull back through the pullback, which is linear.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, List, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from shrinkrepro.target.reverse import Level, restricted, settled, stacked, units

Pushed = Callable[[Callable[..., Any], Tuple[Any, ...], bool], Tuple[Any, ...]]  # output, push of tangents, any aux


def twice(vjp: Callable[..., Any]) -> Pushed:
    """Forward mode over a vjp."""

    def pushed(func: Callable[..., Any], primals: Tuple[Any, ...], has_aux: bool) -> Tuple[Any, ...]:
        specs: List[Any] = []

        def split(*values: Any) -> Any:
            """The outputs that have a derivative, and the others with the aux."""
            result = func(*values)
            output, *aux = result if has_aux else (result,)
            leaves, spec = tree_flatten(output)
            specs[:] = [spec, [_varies(leaf) for leaf in leaves]]
            varying = [leaf for leaf in leaves if _varies(leaf)]
            return varying, ([leaf for leaf in leaves if not _varies(leaf)], *aux)

        varying, pullback, (others, *aux) = vjp(split, *primals, has_aux=True)
        zeros = [torch.zeros_like(leaf) for leaf in varying]
        _, transposed = vjp(pullback, zeros)

        def joined(first: List[Any], second: List[Any]) -> Any:
            from_first, from_second = iter(first), iter(second)
            leaves = [next(from_first if varies else from_second) for varies in specs[1]]
            return tree_unflatten(leaves, specs[0])

        def push(*tangents: Any) -> Any:
            still = [torch.zeros_like(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in others]
            # The zeros carry the batch of a vmap outside, which the derivative of a linear function has lost.
            moved = [tangent + zero for tangent, zero in zip(transposed(tuple(tangents))[0], zeros)]
            return joined(moved, still)

        return (joined(varying, others), push, *aux)

    return pushed


def _varies(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


class Forward:
    """The forward-mode transforms over one way to push tangents."""

    def __init__(self, pushed: Pushed) -> None:
        self._pushed = pushed

    def jvp(
        self, func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
    ) -> Any:
        """The output of ``func``, and its tangent."""
        output, push, *aux = self._pushed(func, tuple(primals), has_aux)
        return (output, push(*tangents), *aux)

    def linearize(self, func: Callable[..., Any], *primals: Any) -> Any:
        """The output of ``func``, and the function that pushes tangents forward."""
        return self._pushed(func, primals, False)

    def jacfwd(
        self, func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any
    ) -> Callable[..., Any]:
        """The Jacobian, a column at a time."""

        def run(*args: Any, **kwargs: Any) -> Any:
            of_chosen, chosen = restricted(func, argnums, args, kwargs)
            output, push, *aux = self._pushed(of_chosen, chosen, has_aux)
            leaves, spec = tree_flatten(output)
            inputs, input_spec = tree_flatten(chosen)
            columns = [tree_flatten(push(*tree_unflatten(unit, input_spec)))[0] for unit in units(inputs)]
            blocks = []
            for position, leaf in enumerate(leaves):
                block, start = [], 0
                for x in inputs:
                    part = columns[start : start + x.numel()]
                    start += x.numel()
                    block.append(stacked([column[position] for column in part], -1, leaf, x))
                whole = tree_unflatten(block, input_spec)
                blocks.append(whole[0] if isinstance(argnums, int) else whole)
            jacobian = tree_unflatten(blocks, spec)
            return (jacobian, aux[0]) if has_aux else jacobian

        return functools.update_wrapper(run, func, updated=())


class Duals:
    """forward_ad's dual numbers: inputs and their tangents are noted, and an output's tangent is found from them."""

    def __init__(self, forward_ad: Any) -> None:
        self._make, self._unpack, self._exit = forward_ad.make_dual, forward_ad.unpack_dual, forward_ad.exit_dual_level
        self._result = forward_ad.UnpackedDualTensor
        self._noted: List[Tuple[Any, Any]] = []
        self._level = Level()  # what is unpacked has left its level
        self._level.is_open = False

    def make_dual(self, tensor: Any, tangent: Any, *, level: Any = None) -> Any:
        """The tensor, noted with its tangent. Torch's own calls go on as they are."""
        if _caller_is_torch():
            return self._make(tensor, tangent, level=level)
        source = tensor
        if not tensor.requires_grad:
            source = tensor.detach().requires_grad_()
            source._shrinkrepro_level = self._level
        with torch.enable_grad():
            dual = source.view_as(source)
        self._noted.append((dual, tangent))
        return dual

    def unpack_dual(self, tensor: Any, *, level: Any = None) -> Any:
        """The tensor and its tangent, which is None when it depends on no dual number."""
        if _caller_is_torch() or not self._noted:
            return self._unpack(tensor, level=level)
        if not tensor.requires_grad:
            return self._result(tensor, None)
        return self._result(*settled(self._unpacked(tensor), torch.is_grad_enabled()))

    def _unpacked(self, tensor: Any) -> Tuple[Any, Any]:
        with torch.enable_grad():
            cotangent = torch.zeros_like(tensor).requires_grad_()
            duals = [dual for dual, _ in self._noted]
            pulled = torch.autograd.grad(tensor, duals, cotangent, create_graph=True, allow_unused=True)
            pairs = [(p, tangent) for p, (_, tangent) in zip(pulled, self._noted) if p is not None]
            if not pairs:
                return tensor, None
            linear = [(p, tangent) for p, tangent in pairs if p.requires_grad]
            if not linear:
                return tensor, torch.zeros_like(tensor)
            [pushed] = torch.autograd.grad(
                [p for p, _ in linear], [cotangent], [t for _, t in linear], create_graph=True, allow_unused=True
            )
        return tensor, torch.zeros_like(tensor) if pushed is None else pushed

    def exit_dual_level(self, *, level: Any = None) -> None:
        """The end of the level: its dual numbers are forgotten."""
        self._noted.clear()
        self._exit(level=level)


def _caller_is_torch() -> bool:
    return str(sys._getframe(2).f_globals.get("__name__", "")).partition(".")[0] == "torch"

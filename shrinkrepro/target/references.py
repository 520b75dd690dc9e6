"""The references by the names of the transforms, and the plain autograd that they need around them.

Decision: a table over one way to pull cotangents back and one to push tangents forward, so that the same references
can be had with checks of their own.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, Tuple

import torch
from torch.utils._pytree import tree_map

from shrinkrepro.target import plain, reverse
from shrinkrepro.target.forward import Duals, Forward


def references(vjp: Callable[..., Any], pushed: Any) -> Dict[str, Callable[..., Any]]:
    """The references by the names of the transforms, over one way to pull back and one to push forward."""
    back, forward = reverse.Reverse(vjp), Forward(pushed)

    def number(inputs: Any) -> Any:
        return tuple(range(len(inputs))) if isinstance(inputs, tuple) else 0

    def listed(inputs: Any) -> Tuple[Any, ...]:
        return inputs if isinstance(inputs, tuple) else (inputs,)

    def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
        return back.jacrev(back.jacrev(func, argnums), argnums)

    def pulled(func: Callable[..., Any], inputs: Any, v: Any = None, *args: Any, **options: Any) -> Any:
        output, pullback = vjp(func, *listed(inputs))
        gradients = pullback(torch.ones_like(output) if v is None else v)
        return output, gradients if isinstance(inputs, tuple) else gradients[0]

    def pushed_once(func: Callable[..., Any], inputs: Any, v: Any = None, *args: Any, **options: Any) -> Any:
        tangents = tree_map(torch.ones_like, inputs) if v is None else v
        return forward.jvp(func, listed(inputs), listed(tangents))

    def curved(func: Callable[..., Any], inputs: Any, v: Any = None, *args: Any, **options: Any) -> Any:
        tangents = tree_map(torch.ones_like, inputs) if v is None else v
        slope = back.grad(func, number(inputs))
        return func(*listed(inputs)), pulled(slope, inputs, tangents)[1]

    return {
        "vmap": plain.vmap,
        "grad": back.grad,
        "grad_and_value": back.grad_and_value,
        "jacrev": back.jacrev,
        "jacfwd": forward.jacfwd,
        "hessian": hessian,
        "vjp": vjp,
        "linearize": forward.linearize,
        "jvp": forward.jvp,
        "autograd.functional.jacobian": lambda f, i, *a, **k: back.jacrev(f, number(i))(*listed(i)),
        "autograd.functional.hessian": lambda f, i, *a, **k: hessian(f, number(i))(*listed(i)),
        "autograd.functional.vjp": pulled,
        "autograd.functional.jvp": pushed_once,
        "autograd.functional.hvp": curved,
        "autograd.functional.vhp": curved,
    }


@contextlib.contextmanager
def plain_autograd() -> Iterator[None]:
    """Inside a reference: loops keep graphs, and dual numbers are found by reverse mode."""
    forward_ad = torch.autograd.forward_ad
    duals = Duals(forward_ad)
    homes: Any = [
        (torch.autograd, "grad", plain.keep_graph(torch.autograd.grad, 3)),
        (torch.autograd, "backward", plain.keep_graph(torch.autograd.backward, 2)),
        *((forward_ad, name, getattr(duals, name)) for name in ("make_dual", "unpack_dual", "exit_dual_level")),
    ]
    originals = [(home, name, getattr(home, name)) for home, name, _ in homes]
    try:
        for home, name, stand_in in homes:
            setattr(home, name, stand_in)
        yield
    finally:
        for home, name, original in originals:
            setattr(home, name, original)

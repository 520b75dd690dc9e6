"""The reference controls: transforms replaced by loops and plain autograd, all of them or one kind alone.

Decision: where all are replaced, forward mode stands on our own vjp; where it alone is, on torch's, so that it
goes on working under transforms that stay.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, List

from shrinkrepro.protocol import CONTROL_COMPILE, CONTROL_FORWARD, CONTROL_REFERENCE, CONTROL_VMAP
from shrinkrepro.target import eager, plain, reverse
from shrinkrepro.target.exchange import Entry, compiler, everywhere, exchange, without_module_compile
from shrinkrepro.target.forward import Duals, Forward
from shrinkrepro.target.without_backward import apply_forward


def install(mode: str, observed: bool = False) -> None:
    """Exchange what the control ``mode`` replaces in this process, for good; if it is ``observed``, control-flow
    operators too."""
    import torch

    entries: List[Entry] = []
    if mode in (CONTROL_REFERENCE, CONTROL_COMPILE):
        entries += compiler(plain.compile)
        without_module_compile()
    if mode in (CONTROL_REFERENCE, CONTROL_VMAP):
        plain.turns_allowed = sys.maxsize
        entries += _vmap(torch)
    if mode in (CONTROL_REFERENCE, CONTROL_FORWARD):
        entries += _forward(torch, reverse.vjp if mode == CONTROL_REFERENCE else torch.func.vjp)
    if mode == CONTROL_REFERENCE:
        entries += _reverse()
        torch.autograd.Function.apply = apply_forward(torch.autograd.Function.__dict__["apply"])
    exchange(entries)
    if observed:
        exchange(eager.STAND_INS, load=True)


def _vmap(torch: Any) -> List[Entry]:
    return [
        *everywhere({"vmap": plain.vmap}),
        ("torch._vmap_internals", "vmap", plain.vmap),
        ("torch._vmap_internals", "_vmap", _grads_vmap),
        ("torch.autograd", "grad", plain.keep_graph(torch.autograd.grad, 3)),
        ("torch.autograd", "backward", plain.keep_graph(torch.autograd.backward, 2)),
        *_row_by_row(torch),
    ]


def _forward(torch: Any, vjp: Callable[..., Any]) -> List[Entry]:
    forward, duals = Forward(vjp), Duals(torch.autograd.forward_ad)
    return [
        *everywhere({"jvp": forward.jvp, "linearize": forward.linearize, "jacfwd": forward.jacfwd}),
        *[("torch.autograd.forward_ad", name, getattr(duals, name)) for name in _DUALS],
        *_row_by_row(torch),
    ]


def _reverse() -> List[Entry]:
    return [
        *everywhere({name: getattr(reverse, name) for name in ("vjp", "grad", "grad_and_value", "jacrev")}),
        *everywhere({"functionalize": plain.functionalize}),
    ]


_DUALS = ("make_dual", "unpack_dual", "exit_dual_level")
_FUNCTIONAL = {"jacobian": ("vectorize", "strategy"), "hessian": ("vectorize", "outer_jacobian_strategy")}


def _row_by_row(torch: Any) -> List[Entry]:
    """torch.autograd.functional is plain autograd already, but for two options of two of its functions."""
    home = torch.autograd.functional
    return [(home.__name__, name, _without_options(getattr(home, name))) for name in _FUNCTIONAL]


def _without_options(original: Callable[..., Any]) -> Callable[..., Any]:
    options = _FUNCTIONAL[original.__name__]

    def run(func: Any, inputs: Any, create_graph: bool = False, strict: bool = False, *args: Any, **kwargs: Any) -> Any:
        others = {name: value for name, value in kwargs.items() if name not in options}
        return original(func, inputs, create_graph, strict, **others)

    return functools.wraps(original)(run)


def _grads_vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, *args: Any, **options: Any) -> Any:
    return plain.vmap(func, in_dims, out_dims)

"""The reference controls: transforms replaced by loops and plain autograd, all of them or one kind alone.

Decision: where all are replaced, forward mode stands on our own vjp; where it alone is, on torch's, so that it
goes on working under transforms that stay.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, List

from shrinkrepro.protocol import (
    CONTROL_COMPILE,
    CONTROL_DIFFERENCES,
    CONTROL_DIFFERENCES_STRICT,
    CONTROL_FORWARD,
    CONTROL_REFERENCE,
    CONTROL_STRICT,
    CONTROL_TRUTH,
    CONTROL_VMAP,
)
from shrinkrepro.target import differences, eager, plain, reverse
from shrinkrepro.target.exchange import Entry, compiler, everywhere, exchange, without_module_compile
from shrinkrepro.target.forward import Duals, Forward, Pushed, twice
from shrinkrepro.target.functional import Functional
from shrinkrepro.target.rules import apply_checked
from shrinkrepro.target.without_backward import apply_forward


def install(mode: str, observed: bool = False) -> None:
    """Exchange what the control ``mode`` replaces in this process, for good; if it is ``observed``, control-flow
    operators too."""
    import torch

    by_differences = mode in (CONTROL_DIFFERENCES, CONTROL_DIFFERENCES_STRICT, CONTROL_TRUTH)
    everything = by_differences or mode in (CONTROL_STRICT, CONTROL_REFERENCE)
    entries: List[Entry] = []
    if mode in (CONTROL_DIFFERENCES, CONTROL_DIFFERENCES_STRICT):  # the first entry of a function counts
        functional = Functional(differences.vjp, differences.pushed)
        entries += [("torch.autograd.functional", *entry) for entry in functional.table().items()]
    if everything or mode == CONTROL_COMPILE:
        entries += compiler(plain.compile)
        without_module_compile()
    if everything or mode == CONTROL_VMAP:
        plain.turns_allowed = sys.maxsize
        entries += _vmap(torch)
    if by_differences:
        entries += _reverse(differences.vjp) + _forward(torch, differences.pushed)
    original = torch.autograd.Function.__dict__["apply"]
    if mode == CONTROL_DIFFERENCES_STRICT:
        torch.autograd.Function.apply = apply_checked(original, original)
    if mode in (CONTROL_STRICT, CONTROL_REFERENCE):
        entries += _reverse(reverse.vjp) + _forward(torch, twice(reverse.vjp))
        through = apply_forward(original)
        torch.autograd.Function.apply = apply_checked(original, through) if mode == CONTROL_STRICT else through
    if mode == CONTROL_FORWARD:
        entries += _forward(torch, twice(torch.func.vjp))
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


def _forward(torch: Any, pushed: Pushed) -> List[Entry]:
    forward, duals = Forward(pushed), Duals(torch.autograd.forward_ad)
    return [
        *everywhere({"jvp": forward.jvp, "linearize": forward.linearize, "jacfwd": forward.jacfwd}),
        *[("torch.autograd.forward_ad", name, getattr(duals, name)) for name in _DUALS],
        *_row_by_row(torch),
    ]


def _reverse(vjp: Callable[..., Any]) -> List[Entry]:
    transforms = {name: getattr(reverse.Reverse(vjp), name) for name in ("grad", "grad_and_value", "jacrev")}
    return everywhere({"vjp": vjp, "functionalize": plain.functionalize, **transforms})


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

"""Every transform runs the plain function and returns zeros of the right shapes; ``vmap`` is a loop.

What is left of a program is whether it is healthy but for the transform.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from benchmarks.removal.loops import compile_replacements, vmap_replacements
from benchmarks.removal.trees import Function, chosen, leaves, outer_zeros, split_aux, with_aux, zeros


def _tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def grad_and_value(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    def run(*args: Any, **kwargs: Any) -> Any:
        out, aux = split_aux(func(*args, **kwargs), has_aux)
        return zeros(chosen(args, argnums), leaves(out)), (out, *aux) if aux else out

    return run


def grad(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    def run(*args: Any, **kwargs: Any) -> Any:
        gradient, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return run


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    out, aux = split_aux(func(*primals), has_aux)

    def pullback(*cotangents: Any, **kwargs: Any) -> Any:
        return zeros(primals, leaves(out) + leaves(cotangents))

    return (out, pullback, *aux)


def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    out, aux = split_aux(func(*primals), has_aux)
    return (out, zeros(out, leaves(out) + leaves(tangents)), *aux)


def linearize(func: Function, *primals: Any) -> Any:
    out = func(*primals)
    return out, lambda *tangents: zeros(out, leaves(out) + leaves(tangents))


def jacobian(func: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    def run(*args: Any, **kwargs: Any) -> Any:
        out, aux = split_aux(func(*args, **kwargs), has_aux)
        return with_aux(outer_zeros(out, chosen(args, argnums), sources=leaves(out)), aux)

    return run


def hessian(func: Function, argnums: Any = 0) -> Function:
    def run(*args: Any, **kwargs: Any) -> Any:
        out = func(*args, **kwargs)
        x = chosen(args, argnums)
        return outer_zeros(out, x, x, sources=leaves(out))

    return run


def functionalize(func: Function, *, remove: str = "mutations") -> Function:
    return func


def functional_vjp(func: Function, inputs: Any, v: Any = None, **options: Any) -> Any:
    out = func(*_tuple(inputs))
    return out, zeros(inputs, leaves(out))


def functional_jvp(func: Function, inputs: Any, v: Any = None, **options: Any) -> Any:
    out = func(*_tuple(inputs))
    return out, zeros(out, leaves(out))


def functional_jacobian(func: Function, inputs: Any, *options: Any, **more: Any) -> Any:
    out = func(*_tuple(inputs))
    return outer_zeros(out, inputs, sources=leaves(out))


def functional_hessian(func: Function, inputs: Any, *options: Any, **more: Any) -> Any:
    out = func(*_tuple(inputs))
    return outer_zeros(out, inputs, inputs, sources=leaves(out))


def make_dual(tensor: torch.Tensor, tangent: torch.Tensor, *, level: int | None = None) -> torch.Tensor:
    return tensor


_real_unpack_dual = torch.autograd.forward_ad.unpack_dual


def unpack_dual(tensor: torch.Tensor, *, level: int | None = None) -> Any:
    caller = sys._getframe(1).f_globals.get("__name__", "")
    if caller.partition(".")[0] == "torch":  # a tensor's repr asks whether it is dual; it must hear no
        return _real_unpack_dual(tensor, level=level)
    return torch.autograd.forward_ad.UnpackedDualTensor(tensor, zeros(tensor, [tensor]))


def replacements() -> dict[str, Any]:
    """By dotted path: what the kind ``primal`` replaces."""
    result = {**vmap_replacements(), **compile_replacements()}
    transforms = {
        "grad": grad,
        "grad_and_value": grad_and_value,
        "vjp": vjp,
        "jvp": jvp,
        "linearize": linearize,
        "jacrev": jacobian,
        "jacfwd": jacobian,
        "hessian": hessian,
        "functionalize": functionalize,
    }
    holders = ("torch.func", "functorch", "torch._functorch.apis", "torch._functorch.eager_transforms")
    for holder in holders:
        result.update({f"{holder}.{name}": new for name, new in transforms.items()})
    functional = {
        "vjp": functional_vjp,
        "jvp": functional_jvp,
        "jacobian": functional_jacobian,
        "hessian": functional_hessian,
        "vhp": functional_vjp,
        "hvp": functional_vjp,
    }
    result.update({f"torch.autograd.functional.{name}": new for name, new in functional.items()})
    result["torch.autograd.forward_ad.make_dual"] = make_dual
    result["torch.autograd.forward_ad.unpack_dual"] = unpack_dual
    return result

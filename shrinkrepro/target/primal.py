"""Mode PRIMAL: puts the plain stand-ins in the place of every transform, wherever one is known by name.

Decision: the function objects are exchanged in the globals of all loaded modules, so that library code that
imported ``vmap`` for itself uses the stand-in too; a module that is loaded later imports the stand-in.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any, Dict, List, Tuple

from shrinkrepro.target import eager, plain

_FUNCTORCH = (
    "vmap",
    "grad",
    "grad_and_value",
    "vjp",
    "jvp",
    "linearize",
    "jacrev",
    "jacfwd",
    "hessian",
    "functionalize",
)
_FUNCTORCH_HOMES = ("torch", "torch.func", "torch._functorch.apis", "torch._functorch.eager_transforms",
                    "torch._functorch.deprecated", "functorch", "torch._functorch.vmap")  # fmt: skip
_OTHERS: Tuple[Tuple[str, str, Any], ...] = (
    ("torch", "compile", plain.compile),
    ("torch._dynamo", "optimize", lambda *args, **options: lambda function: function),
    ("torch._dynamo.eval_frame", "optimize", lambda *args, **options: lambda function: function),
    ("torch.autograd.functional", "jacobian", plain.autograd_jacobian),
    ("torch.autograd.functional", "hessian", plain.autograd_hessian),
    ("torch.autograd.functional", "vjp", plain.autograd_pull),
    ("torch.autograd.functional", "vhp", plain.autograd_pull),
    ("torch.autograd.functional", "hvp", plain.autograd_pull),
    ("torch.autograd.functional", "jvp", plain.autograd_push),
)


def install(observed: bool = False, strict: bool = False) -> None:
    """Exchange the transforms in this process, for good; if it is ``observed``, control-flow operators too."""
    import torch

    plain.strict = strict

    table: Dict[int, Tuple[Any, Any]] = {}
    for home in _FUNCTORCH_HOMES:
        for name in _FUNCTORCH:
            _enter(table, home, name, getattr(plain, name))
    for home, name, replacement in _OTHERS:
        _enter(table, home, name, replacement)
    _enter(table, "torch.autograd", "grad", plain.keep_graph(torch.autograd.grad, 3))
    _enter(table, "torch.autograd", "backward", plain.keep_graph(torch.autograd.backward, 2))
    forward_ad = torch.autograd.forward_ad
    _enter(table, "torch.autograd.forward_ad", "make_dual", plain.make_dual(forward_ad.make_dual))
    _enter(table, "torch.autograd.forward_ad", "unpack_dual", plain.unpack_dual(forward_ad.unpack_dual))
    for home, name, replacement in eager.STAND_INS if observed else ():
        with contextlib.suppress(ImportError):
            importlib.import_module(home)
        _enter(table, home, name, replacement)
    for space in _spaces():
        for name, value in list(space.items()):
            known = table.get(id(value))
            if known is not None and known[0] is value:
                space[name] = known[1]
    if hasattr(torch.nn.Module, "compile"):
        torch.nn.Module.compile = lambda self, *args, **options: None


def _enter(table: Dict[int, Tuple[Any, Any]], home: str, name: str, replacement: Any) -> None:
    original = getattr(sys.modules.get(home), name, None)
    if callable(original):
        table[id(original)] = (original, replacement)


def _spaces() -> List[Dict[str, Any]]:
    """The globals of every loaded module but our own."""
    return [
        vars(module)
        for name, module in list(sys.modules.items())
        if module is not None
        and not name.startswith("shrinkrepro")
        and isinstance(getattr(module, "__dict__", None), dict)
    ]

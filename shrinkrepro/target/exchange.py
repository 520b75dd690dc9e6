"""Puts stand-ins in the place of the library's functions, wherever one is known by name.

Decision: the function objects are exchanged in the globals of all loaded modules, so that library code that
imported ``vmap`` for itself uses the stand-in too; a module that is loaded later imports the stand-in.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any, Dict, Iterable, List, Mapping, Tuple

Entry = Tuple[str, str, Any]  # a module, the name of a function in it, its stand-in

_HOMES = ("torch", "torch.func", "torch._functorch.apis", "torch._functorch.eager_transforms",
          "torch._functorch.deprecated", "functorch", "torch._functorch.vmap")  # fmt: skip


def everywhere(transforms: Mapping[str, Any]) -> List[Entry]:
    """The entries for transforms under every module of torch's that spells them."""
    return [(home, name, stand_in) for home in _HOMES for name, stand_in in transforms.items()]


def compiler(identity: Any) -> List[Entry]:
    """The entries that make ``torch.compile`` the ``identity`` and switch Dynamo off."""
    return [
        ("torch", "compile", identity),
        ("torch._dynamo", "optimize", _no_optimizer),
        ("torch._dynamo.eval_frame", "optimize", _no_optimizer),
    ]


def exchange(entries: Iterable[Entry], load: bool = False) -> None:
    """Exchange functions in this process, for good; the first entry of a function counts. Modules that are not
    loaded are left out, or loaded if ``load`` says so."""
    table: Dict[int, Tuple[Any, Any]] = {}
    for home, name, stand_in in entries:
        if load:
            with contextlib.suppress(ImportError):
                importlib.import_module(home)
        original = getattr(sys.modules.get(home), name, None)
        if callable(original):
            table.setdefault(id(original), (original, stand_in))
    for space in _spaces():
        for name, value in list(space.items()):
            known = table.get(id(value))
            if known is not None and known[0] is value:
                space[name] = known[1]


def without_module_compile() -> None:
    """``module.compile()`` does nothing."""
    import torch

    if hasattr(torch.nn.Module, "compile"):
        torch.nn.Module.compile = lambda self, *args, **options: None


def _no_optimizer(*args: Any, **options: Any) -> Any:
    return lambda function: function


def _spaces() -> List[Dict[str, Any]]:
    """The globals of every loaded module but our own."""
    return [
        vars(module)
        for name, module in list(sys.modules.items())
        if module is not None
        and not name.startswith("shrinkrepro")
        and isinstance(getattr(module, "__dict__", None), dict)
    ]

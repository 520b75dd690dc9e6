"""Puts replacements in the place of library functions, under every name by which they can be reached.

Decision: replacement goes by identity over all loaded modules, because the same function is
``torch.vmap``, ``torch.func.vmap``, ``functorch.vmap`` and a name inside ``torch._functorch``, and a
library module that imported it calls its own name.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Mapping
from typing import Any

# Loaded before the scan, so that the names that they import are found too. Some are absent from older versions.
HOLDERS = (
    "torch.func",
    "torch._functorch.apis",
    "torch._functorch.eager_transforms",
    "torch._functorch.vmap",
    "torch._functorch.deprecated",
    "torch._vmap_internals",
    "torch.autograd.functional",
    "torch.autograd.forward_ad",
    "torch.nn.attention.flex_attention",
    "torch.utils.checkpoint",
    "functorch",
)


def load_holders() -> None:
    """Import the modules that hold transforms, as far as this version has them."""
    for name in HOLDERS:
        try:
            importlib.import_module(name)
        except ImportError:
            continue


def everywhere(replacements: Mapping[Any, Any]) -> None:
    """Put ``replacements[f]`` where a loaded module has the function ``f`` under any name."""
    by_identity = {id(old): new for old, new in replacements.items()}
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if not isinstance(names, dict) or module.__name__.startswith("benchmarks."):
            continue
        for name, value in list(names.items()):
            if id(value) in by_identity:
                names[name] = by_identity[id(value)]


def _copy(function: Any) -> Any:
    twin = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    return twin


def named(paths: Mapping[str, Any]) -> dict[Any, Any]:
    """From the objects that dotted paths name to replacements; paths that this version lacks are left out.

    Each object gets a replacement of its own: Dynamo refuses one object under two of its rules
    (``eager_transforms.jvp`` and ``deprecated.jvp`` have different ones).
    """
    found = {}
    for path, new in paths.items():
        module_name, _, name = path.rpartition(".")
        module = sys.modules.get(module_name)
        old = getattr(module, name, None) if module is not None else None
        if old is not None and old not in found:
            found[old] = _copy(new) if isinstance(new, types.FunctionType) else new
    return found

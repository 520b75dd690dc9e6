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
        ("torch._functorch.aot_autograd", "aot_function", _as_it_is),
        ("torch._functorch.aot_autograd", "aot_module", _as_it_is),
    ]


def exchange(entries: Iterable[Entry], load: bool = False) -> None:
    """Exchange functions in this process, for good; the first entry of a function counts. Modules that are not
    loaded are left out, or loaded if ``load`` says so."""
    if not _index:
        index_globals()
    table: Dict[int, Tuple[Any, Any]] = {}
    for home, name, stand_in in entries:
        if load:
            with contextlib.suppress(ImportError):
                importlib.import_module(home)
        original = getattr(sys.modules.get(home), name, None)
        if callable(original):
            table.setdefault(id(original), (original, stand_in))
    for original, stand_in in table.values():
        for space, name in _index[0].spots.get(id(original), ()):
            if space.get(name) is original:
                space[name] = stand_in
    unseen = any(id(original) not in _index[0].spots for original, _ in table.values())
    for space in _spaces():
        if unseen or id(space) not in _index[0].known:
            for name, value in list(space.items()):
                if id(value) in table and table[id(value)][0] is value:
                    space[name] = table[id(value)][1]


class _Index:
    """Where each function stands in the globals of the modules that were loaded when it was made.

    A forked child that looks through all globals itself copies every page that holds one of them: 70 ms against 3.
    """

    def __init__(self) -> None:
        self.spots: Dict[int, List[Tuple[Dict[str, Any], str]]] = {}
        self.spaces: List[Dict[str, Any]] = _spaces()
        self.known = {id(space) for space in self.spaces}
        for space in self.spaces:
            for name, value in list(space.items()):
                if callable(value) and not isinstance(value, type):
                    self.spots.setdefault(id(value), []).append((space, name))


_index: List[_Index] = []


def index_globals() -> None:
    """Look through the globals of all loaded modules now, in the process that the children are forked from."""
    _index[:] = [_Index()]


def without_module_compile() -> None:
    """``module.compile()`` does nothing."""
    import torch

    if hasattr(torch.nn.Module, "compile"):
        torch.nn.Module.compile = lambda self, *args, **options: None


def _no_optimizer(*args: Any, **options: Any) -> Any:
    return lambda function: function


def _as_it_is(function: Any, *args: Any, **options: Any) -> Any:
    return function


def _spaces() -> List[Dict[str, Any]]:
    """The globals of every loaded module but our own."""
    return [
        vars(module)
        for name, module in list(sys.modules.items())
        if module is not None
        and not name.startswith("shrinkrepro")
        and isinstance(getattr(module, "__dict__", None), dict)
    ]

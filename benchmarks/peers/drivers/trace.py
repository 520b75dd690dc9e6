"""Run by the target: can torch's FX minifier be given the function that fails in a script? Argument: the script.

The functions of ``torch.func`` note their outermost call that raised; what it was given is traced with ``make_fx``, the
graph is put under the same transform, and its failure is compared. The last line says what came of it.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_map

CURRIED = ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian")  # of a function, give a function
DIRECT = ("vjp", "jvp", "linearize")  # of a function and its inputs
ALIKE = 60  # characters of a message that are compared: then come shapes


class Call(NamedTuple):
    """The outermost call of a transform that raised."""

    under: Callable[..., Any]  # a function, put under the same transform and called with the same inputs
    function: Callable[..., Any]
    inputs: tuple[Any, ...]  # as the function sees them
    error: Exception


def inputs_of(name: str, args: tuple[Any, ...], dims: Any) -> tuple[Any, ...]:
    """What a function under ``name`` is called with; for vmap the first of each tensor that ``dims`` maps."""
    if name == "jvp":
        return tuple(args[0])
    if name != "vmap":
        return args
    of_each = dims if isinstance(dims, tuple) else (dims,) * len(args)

    def first(arg: Any, dim: Any) -> Any:
        if not isinstance(dim, int):
            return arg
        return tree_map(lambda leaf: leaf.select(dim, 0) if isinstance(leaf, torch.Tensor) else leaf, arg)

    return tuple(first(arg, dim) for arg, dim in zip(args, of_each))


class Watch:
    """Takes the place of the transforms and keeps the outermost call that raised."""

    def __init__(self) -> None:
        self.call: Call | None = None
        self._depth = 0
        for name in (*CURRIED, *DIRECT):
            if hasattr(torch.func, name):
                setattr(torch.func, name, self._watched(name, getattr(torch.func, name)))
        torch.vmap = torch.func.vmap

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def transform(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
            if name in DIRECT:
                return self._called(lambda f: real(f, *args, **options), function, inputs_of(name, args, 0))

            def call(*inputs: Any, **named: Any) -> Any:
                seen = inputs_of(name, inputs, options.get("in_dims", args[0] if args else 0))
                return self._called(lambda f: real(f, *args, **options)(*inputs, **named), function, seen)

            return call

        return transform

    def _called(self, under: Callable[..., Any], function: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
        outermost, self._depth = self._depth == 0, self._depth + 1
        try:
            return under(function)
        except Exception as error:
            if outermost and self.call is None:
                self.call = Call(under, function, inputs, error)
            raise
        finally:
            self._depth -= 1


def answer(watch: Watch) -> str:
    """What came of it, in words."""
    if watch.call is None:
        return "no call of torch.func raised"
    under, function, inputs, error = watch.call
    try:
        graph = make_fx(function)(*inputs)
    except Exception as failure:
        return f"it cannot be traced: {_first(failure)}"
    try:
        under(graph)
    except Exception as failure:
        same = str(failure)[:ALIKE] == str(error)[:ALIKE]
        return "the graph fails the same" if same else f"the graph fails otherwise: {_first(failure)}"
    return "the graph does not fail"


def _first(error: BaseException) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:100]}"


def main(path: str) -> None:
    """Run the script, and print the answer."""
    watch, argv = Watch(), sys.argv[1:]
    sys.argv = argv
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    with contextlib.suppress(BaseException):  # its own failure, which is known
        runpy.run_path(path, run_name="__main__")
    print(answer(watch), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

"""The numbers that a program ends with, each under an expression that gives it: what ``check`` looks for pairs in.

Decision: values are read when the program has ended, from its own module and from the last call of the functions that
print or that it calls itself, down to a bounded depth; a large tensor is sent as a sample and its sum.
"""

from __future__ import annotations

import ast
import contextlib
import types
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import torch

VALUES = 600  # sent, of all
OF_A_NAME = 60  # sent, of one name
ITEMS = 4  # looked at in a list; of a dictionary twice as many
DEPTH = 5
SAMPLE = 64  # elements of a value
NOTE = "__shrinkrepro_locals__"


class Collector:
    """Runs a program so that what its functions know at their end is kept, and reads its values afterwards."""

    journal: Any = None

    def __init__(self, source: str, path: str, namespace: Dict[str, Any]) -> None:
        self._source, self._path, self._namespace = source, path, namespace
        self._locals: Dict[str, Dict[str, Any]] = {}

    def compile(self) -> types.CodeType:
        """The program, with a note at the end of functions that may hold results."""
        tree = ast.parse(self._source)
        called = {n.func.id for n in _level(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _holds_results(node, called):
                _noted(node)
        self._namespace[NOTE] = self._note
        return compile(tree, self._path, "exec", dont_inherit=True)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """While the program runs."""
        yield

    def wire(self) -> Dict[str, Any]:
        """The values: ``expr``, ``name`` (the first one in it), ``function`` (empty: the module's own), ``shape``,
        ``dtype``, ``sample`` and ``sum``."""
        self._namespace.pop(NOTE, None)
        values: List[Dict[str, Any]] = []
        own = set(self._namespace)
        for function, names in [("", self._namespace), *self._locals.items()]:
            named = {id(value) for value in names.values() if _is_value(value)}
            seen: Set[int] = set()  # an object that has two names is looked into under the first
            for name, value in list(names.items()):
                if not name.startswith("_") and (not function or name not in own):
                    found = _values(name, value, DEPTH, seen, named)
                    for expression, inner in _first(found, OF_A_NAME):
                        with contextlib.suppress(Exception):
                            values.append({"expr": expression, "name": name, "function": function, **_told(inner)})
        return {"values": values[:VALUES]}

    def _note(self, function: str, names: Dict[str, Any]) -> None:
        self._locals[function] = dict(names)


def _level(tree: ast.Module) -> Iterator[ast.AST]:
    waiting: List[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _holds_results(function: ast.FunctionDef, called: Set[str]) -> bool:
    inside = [node for statement in function.body for node in ast.walk(statement)]
    if function.decorator_list or any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in inside):
        return False
    prints = any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "print" for n in inside)
    return prints or function.name in called


def _noted(function: ast.FunctionDef) -> None:
    """Wrap the body, so that the function's names are noted however it ends."""
    call = ast.parse("%s(%r, locals())" % (NOTE, function.name)).body[0]
    last = function.body[-1]
    for node in ast.walk(call):
        if hasattr(node, "lineno"):
            ast.copy_location(node, last)
    guarded = ast.Try(body=function.body, handlers=[], orelse=[], finalbody=[call])
    function.body = [ast.copy_location(guarded, function.body[0])]


def _is_value(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return _is_numbers(value)
    return isinstance(value, (torch.Tensor, float, complex)) or type(value).__name__ == "ndarray"


def _values(
    expression: str, value: Any, depth: int, seen: Set[int], named: Set[int], top: bool = True
) -> Iterator[Tuple[str, Any]]:
    """The numbers in ``value``, each with the expression that gives it; but for those that have a name themselves."""
    if isinstance(value, (torch.nn.Parameter, torch.nn.Module, bool, int, str, bytes)):
        return
    if _is_value(value) and (top or id(value) not in named):
        yield expression, value
    if isinstance(value, (float, complex)) or depth == 0 or id(value) in seen:
        return
    seen.add(id(value))
    inner: List[Tuple[str, Any]] = []
    if isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None)
        inner = [(".%s" % names[k] if names else "[%d]" % k, item) for k, item in enumerate(value[:ITEMS])]
    elif isinstance(value, dict):
        pairs = list(value.items())[: 2 * ITEMS]
        inner = [("[%r]" % (key,), item) for key, item in pairs if isinstance(key, (str, int, float, bool))]
    elif isinstance(getattr(value, "__dict__", None), dict) and type(value).__module__ == "__main__":
        inner = [("." + name, item) for name, item in list(vars(value).items()) if name.isidentifier()]
    for step, item in inner:
        yield from _values(expression + step, item, depth - 1, seen, named, False)


def _is_numbers(value: Any) -> bool:
    """Whether a list, of lists or not, holds nothing but numbers, and has some that are no integers."""
    if not 0 < len(value) <= SAMPLE:
        return False
    if all(isinstance(v, (list, tuple)) for v in value):
        return all(_is_numbers(v) for v in value)
    return all(isinstance(v, (int, float)) for v in value) and any(isinstance(v, float) for v in value)


def _first(found: Iterator[Tuple[str, Any]], count: int) -> Iterator[Tuple[str, Any]]:
    for number, pair in enumerate(found):
        if number == count:
            return
        yield pair


def _told(value: Any) -> Dict[str, Any]:
    with torch.no_grad():
        tensor = value.detach() if isinstance(value, torch.Tensor) else torch.as_tensor(value)
        dtype = str(tensor.dtype).partition(".")[2] if isinstance(value, torch.Tensor) else type(value).__name__
        kind = "tensor" if isinstance(value, torch.Tensor) else "other"
        if tensor.layout is not torch.strided:
            tensor = tensor.to_dense()
        flat = torch.view_as_real(tensor.resolve_conj()).reshape(-1) if tensor.is_complex() else tensor.reshape(-1)
        flat = flat.to(device="cpu", dtype=torch.float64)
        step = max(1, -(-flat.numel() // SAMPLE))
        return {
            "kind": kind,
            "shape": list(tensor.shape),
            "dtype": dtype,
            "sample": [_number(v) for v in flat[::step].tolist()],
            "sum": _number(float(flat.sum())) if flat.numel() else 0.0,
        }


def _number(value: float) -> Optional[Any]:
    return value if value - value == 0 else repr(value)

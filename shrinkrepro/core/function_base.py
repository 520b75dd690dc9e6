"""The function itself, before any transform: its inputs bound to names, and it as a function of tensors alone.

Decision: containers, constants and keyword arguments are taken apart in one small function around the user's own, for
the call and the reference alike; so every transform sees tensors in, and a tensor or a tuple of tensors out.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import symtable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shrinkrepro.core.function_call import FunctionCall, parameters_of
from shrinkrepro.core.function_values import ItemsValue, TensorValue, Value, leaves_of
from shrinkrepro.errors import UsageError

if TYPE_CHECKING:
    from shrinkrepro.core.function_text import Observed

_PLAIN = ("x", "y", "z", "u", "v", "w")


@dataclass(frozen=True)
class Leaf:
    """One tensor that the function gets: the name of the parameter, and the input that it is or lies in."""

    name: str
    position: int
    path: tuple[int | str, ...]
    value: TensorValue


@dataclass(frozen=True)
class Base:
    """The function of tensors: what is transformed, what its reference calls, and the statements that make them."""

    lines: list[str]
    actual: str
    reference: str
    leaves: tuple[Leaf, ...]
    outputs: tuple[TensorValue, ...]
    single: bool


class Names:
    """Gives names that the script does not use."""

    def __init__(self, script: str, call: FunctionCall) -> None:
        texts = [call.function, *call.inputs, *call.tangents, *(value for _, value in call.keywords)]
        nodes = [node for text in texts for node in ast.walk(ast.parse(text, mode="eval"))]
        self._taken = {node.id for node in nodes if isinstance(node, ast.Name)} | {"torch", *dir(builtins)}
        self._taken |= _top_level(symtable.symtable(script, "<script>", "exec"))

    def fresh(self, wanted: str) -> str:
        """``wanted`` or a name like it that is free; it is taken then."""
        name = re.sub(r"\W", "_", wanted)
        if not name.isidentifier() or keyword.iskeyword(name):
            name = f"item_{name}"
        number, free = 1, name
        while free in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free)
        return free


def lines_of_inputs(
    script: str, call: FunctionCall, values: tuple[Value, ...], names: Names
) -> tuple[list[str], str, list[str]]:
    """Statements that bind the function and its inputs, and the expressions that stand for them then."""
    lines = [] if _imports_torch(script) else ["import torch"]
    function = call.function
    if not _dotted(function):
        function = names.fresh("function")
        lines.append(f"{function} = {call.function}")
    wanted = [*parameters_of(script, call.function)]
    wanted += [name for name in _PLAIN if name not in wanted]
    wanted += [f"x{i}" for i in range(len(call.inputs))]
    inputs: list[str] = []
    for i, (expression, value) in enumerate(zip(call.inputs, values)):
        constant = isinstance(ast.parse(expression, mode="eval").body, ast.Constant)
        if (expression.isidentifier() and expression not in inputs) or (constant and not _tensors(value)):
            inputs.append(expression)
        else:
            inputs.append(names.fresh(wanted[i]))
            lines.append(f"{inputs[-1]} = {expression}")
    return lines, function, inputs


def base_of(
    function: str, inputs: list[str], call: FunctionCall, observed: Observed, names: Names, differentiates: bool
) -> Base:
    """The function of the tensors in its inputs.

    Raises:
        UsageError: it takes or gives no tensor that a transform could work on.
    """
    leaves: list[Leaf] = []
    arguments = []
    for position, (name, value) in enumerate(zip(inputs, observed.inputs)):
        if isinstance(value, TensorValue):
            leaves.append(Leaf(name, position, (), value))
            arguments.append(name)
            continue
        inner = [Leaf(names.fresh(_leaf_name(name, path)), position, path, v) for path, v in leaves_of(value)]
        leaves += inner
        arguments.append(_rebuilt(name, value, {leaf.path: leaf.name for leaf in inner}))
    if not leaves:
        raise UsageError(f"{call.name}: there is no tensor among the inputs", "give one in --inputs")
    kept = [(path, value) for path, value in leaves_of(observed.output) if value.floating or not differentiates]
    if not kept and differentiates and isinstance(observed.output, TensorValue):
        kept = [((), observed.output)]  # a message of its own
    if not kept:
        raise UsageError(f"{call.name}: it gives {observed.output.describe()}", "give a function that returns a tensor")
    arguments += [f"{key}={value}" for key, value in call.keywords]
    output = observed.output
    direct = isinstance(output, TensorValue) or (
        isinstance(output, ItemsValue)
        and output.kind == "tuple"
        and [path for path, _ in kept] == [(i,) for i in range(len(output.items))]
    )
    lines: list[str] = []
    for leaf in leaves:
        if leaf.path:
            lines.append(f"{leaf.name} = {inputs[leaf.position]}{_items(leaf.path)}")
    params = [leaf.name for leaf in leaves]
    result = names.fresh("result") if not direct else ""
    picked = ", ".join(f"{result}{_items(path)}" for path, _ in kept)
    actual = function
    if not direct or arguments != params:
        actual = names.fresh("call")
        lines += _wrapper(actual, params, f"{function}({', '.join(arguments)})", result, picked)
    reference = actual
    if observed.changes:
        reference = names.fresh("unchanged")
        lines += _wrapper(reference, params, f"{actual}({', '.join(f'{name}.clone()' for name in params)})", "", "")
    single = isinstance(output, TensorValue) if direct else len(kept) == 1
    return Base(lines, actual, reference, tuple(leaves), tuple(value for _, value in kept), single)


def _wrapper(name: str, params: list[str], call: str, result: str, picked: str) -> list[str]:
    body = [f"    {result} = {call}", f"    return {picked}"] if result else [f"    return {call}"]
    return [f"def {name}({', '.join(params)}):", *body]


def _leaf_name(name: str, path: tuple[int | str, ...]) -> str:
    last = path[-1]
    return last if isinstance(last, str) else f"{name}_{'_'.join(map(str, path))}"


def _items(path: tuple[int | str, ...]) -> str:
    return "".join(f"[{key!r}]" for key in path)


def _rebuilt(
    base: str, value: Value, by_path: dict[tuple[int | str, ...], str], path: tuple[int | str, ...] = ()
) -> str:
    """An expression for an input, with its tensors replaced by the parameters for them."""
    if path in by_path:
        return by_path[path]
    own = f"{base}{_items(path)}"
    if not isinstance(value, ItemsValue) or not any(p[: len(path)] == path for p in by_path):
        return own
    parts = [(key, _rebuilt(base, item, by_path, (*path, key))) for key, item in value.items]
    if value.kind == "dict":
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in parts) + "}"
    inner = ", ".join(part for _, part in parts)
    return f"[{inner}]" if value.kind == "list" else f"({inner}{',' * (len(parts) == 1)})"


def _top_level(table: symtable.SymbolTable) -> set[str]:
    """The names that a script binds or reads at its top level, also from inside its functions."""
    every = table.get_type() == "module"
    names = {symbol.get_name() for symbol in table.get_symbols() if every or symbol.is_global()}
    return names.union(*map(_top_level, table.get_children()))


def _tensors(value: Value) -> bool:
    return next(leaves_of(value), None) is not None


def _dotted(function: str) -> bool:
    return all(part.isidentifier() for part in function.split("."))


def _imports_torch(script: str) -> bool:
    return any(
        isinstance(statement, ast.Import)
        and any(alias.name.partition(".")[0] == "torch" and alias.asname is None for alias in statement.names)
        for statement in ast.parse(script).body
    )

"""Rows: one element of data that is several, and the row itself where a function was mapped over rows.

Decision: how many rows there are is written in several places, so all of them change in one edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.captured import literal_at
from shrinkrepro_strategies.tensors import SIZED

_TENSORS = ("torch.tensor", "torch.as_tensor", "torch.Tensor", "torch.FloatTensor", "torch.LongTensor")


@strategy("one-row", tier=Tier.FINE)
def one_row(program: Program, facts: Facts) -> Iterator[Edit]:
    """Keep one element of all tensors that are written out with as many, and make sizes of as many 1.

    Two edits a length, with the last and with the first element. Example: ``f(torch.tensor([3, 4]), torch.ones(2))``
    -> ``f(torch.tensor([4]), torch.ones(1))``.
    """
    data: dict[int, list[Path]] = {}
    for path, node, full in calls.calls_of(program, "torch."):
        if full in _TENSORS and node.args and isinstance(node.args[0], ast.List | ast.Tuple):
            elements = node.args[0].elts
            if len(elements) > 1 and not any(isinstance(element, ast.Starred) for element in elements):
                data.setdefault(len(elements), []).append((*path, "args", 0, "elts"))
    sizes: dict[int, list[Path]] = {}
    for path, node, full in calls.calls_of(program, "torch."):
        if full in SIZED:
            for i, size in enumerate(node.args):
                if isinstance(size, ast.Constant) and type(size.value) is int:
                    sizes.setdefault(size.value, []).append((*path, "args", i))
    for count, places in data.items():
        ones = [Change(at, "1") for at in sizes.get(count, [])]
        for kept in (count - 1, 0):
            gone = [Change((*at, i)) for at in places for i in range(count) if i != kept]
            if ones or len(places) > 1:
                yield Edit((*gone, *ones))


@strategy("row-for-mapped", tier=Tier.FINE)
def row_for_mapped(program: Program, facts: Facts) -> Iterator[Edit]:
    """Call a function with one row instead of mapping it over rows; tensors that are filled lose the dimension.

    Example: ``vmap(f, in_dims=(0, None))(torch.ones(2, 3), y)`` -> ``f(torch.ones(3), y)``.
    """
    for path, node in program.walk(ast.Call):
        inner = node.func
        if not isinstance(inner, ast.Call) or not inner.args or node.keywords:
            continue
        if calls.transform_name(calls.callee(program, (*path, "func"))) != "vmap" or "decorator_list" in path:
            continue
        given = calls.positional(node)
        dims = calls.mapped_dims(calls.options_of(inner, "vmap"), len(node.args))
        if given is None or dims is None or any(dim is not None and dim < 0 for dim in dims):
            continue
        function = program.text(inner.args[0])
        rows = []
        outside: list[Change] = []
        for i, (argument, dim) in enumerate(zip(given, dims)):
            text, change = _row(program, (*path, "args", i), argument, dim)
            rows.append(text)
            outside.extend(change)
        called = f"({function})" if isinstance(inner.args[0], ast.Lambda) else function
        yield Edit((Change(path, f"{called}({', '.join(rows)})"), *dict.fromkeys(outside)))


def _row(program: Program, path: Path, argument: ast.expr, dim: int | None) -> tuple[str, list[Change]]:
    """Text of one row of ``argument``, and what changes elsewhere for it."""
    text = program.text(argument)
    if dim is None:
        return text, []
    place = literal_at(program, path)
    literal = program.node(place) if place is not None else None
    if place is not None and isinstance(literal, ast.Call) and dim < len(literal.args):
        if place != path and len(program.scopes.uses_of((*program.parent(place)[0], "targets", 0))) > 1:
            return f"{text}[0]", []
        parts = [program.text(size) for i, size in enumerate(literal.args) if i != dim]
        full = calls.callee(program, place) or ""
        function = program.text(literal.func)
        if not parts:
            function = function.removesuffix(full.rpartition(".")[2]) + "tensor"
            parts = ["0.0" if full.endswith("zeros") else "1.0"]
        text = f"{function}({', '.join([*parts, *map(program.text, literal.keywords)])})"
        return (text, []) if place == path else (program.text(argument), [Change(place, text)])
    simple = isinstance(argument, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"{text if simple else f'({text})'}[{'0' if dim == 0 else ':, ' * dim + '0'}]", []


STRATEGIES = (one_row, row_for_mapped)

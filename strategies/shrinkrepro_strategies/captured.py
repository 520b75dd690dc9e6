"""Captured values: what a mapped function reads from outside, in the place of an input that it does not read.

Decision: the input that is not read only says how often the function runs; one row of what is captured says the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.callees import assigned_value, definition_of
from shrinkrepro_strategies.slices import Slicer
from shrinkrepro_strategies.tensors import SIZED


@strategy("map-over-captured", tier=Tier.FINE)
def map_over_captured(program: Program, facts: Facts) -> Iterator[Edit]:
    """Map a function over what it captures, with one dimension more, where it does not read its input.

    Two edits: with one row and with as many as before; the same call elsewhere loses the dimension that it was given.
    Example: ``vmap(lambda p: f(x))(q)`` beside ``f(x)[None]`` -> ``vmap(f)(x)`` beside ``f(x)``.
    """
    slicer = Slicer(program)
    for path, node in program.walk(ast.Call):
        inner = node.func
        if not isinstance(inner, ast.Call) or not inner.args or len(node.args) != 1 or node.keywords:
            continue
        function = inner.args[0]
        called = _constant(program, (*path, "func", "args", 0), function)
        if calls.transform_name(calls.callee(program, (*path, "func"))) != "vmap" or called is None:
            continue
        captured = called.args[0]
        place = literal_at(program, program.paths[id(captured)])
        if place is None:
            continue
        literal = program.node(place)
        assert isinstance(literal, ast.Call)
        once = program.text(called)
        rest = _unwrapped(program, once)
        given = program.text(captured)
        mapped = f"{program.text(inner.func)}({program.text(called.func)})({given})"
        for rows in ("1", *_rows(facts, (*path, "args", 0))):
            sizes = ", ".join([rows, *map(program.text, (*literal.args, *literal.keywords))])
            text = f"{program.text(literal.func)}({sizes})"
            if place[: len(path)] == path:
                mapped = f"{program.text(inner.func)}({program.text(called.func)})({text})"
                yield Edit(slicer.with_dead(Change(path, mapped), *rest))
            else:
                yield Edit(slicer.with_dead(Change(path, mapped), Change(place, text), *rest))


def _constant(program: Program, path: Path, function: ast.expr) -> ast.Call | None:
    """The call of one thing that the lambda ``function`` makes without reading what it is given."""
    if not isinstance(function, ast.Lambda) or not isinstance(function.body, ast.Call):
        return None
    body = function.body
    if len(body.args) != 1 or body.keywords or isinstance(body.args[0], ast.Starred):
        return None
    names = program.scopes.names_in(path)
    read = {n.id for n in ast.walk(body) if isinstance(n, ast.Name)}
    return body if names and not names & read else None


def literal_at(program: Program, path: Path) -> Path | None:
    """The constructor from sizes that stands at ``path``, or that the only assignment of the name there has."""
    node = program.node(path)
    if isinstance(node, ast.Name):
        definition = definition_of(program, path)
        value = assigned_value(program, definition) if definition is not None else None
        if definition is None or value is None or definition[-2:] != ("targets", 0):
            return None
        path, node = value, program.node(value)
    sized = isinstance(node, ast.Call) and (calls.callee(program, path) or "") in SIZED
    return path if sized else None


def _unwrapped(program: Program, once: str) -> list[Change]:
    """``f(x)[None]`` and ``torch.stack([f(x), ...])`` of the call ``once`` -> ``f(x)``."""
    found: list[Change] = []
    for path, node in program.walk(ast.Subscript, ast.Call):
        if isinstance(node, ast.Subscript):
            one = program.text(node.value) == once and ast.unparse(node.slice) == "None"
        else:
            parts = node.args[0] if len(node.args) == 1 else None
            stacked = isinstance(parts, ast.List | ast.Tuple) and {program.text(p) for p in parts.elts} == {once}
            one = stacked and calls.callee(program, path) == "torch.stack"
        if one:
            found.append(Change(path, once))
    return found


def _rows(facts: Facts, path: Path) -> list[str]:
    """How often the function is mapped, where that is not once."""
    fact = facts.of(path)
    if fact is None or fact.kind != "tensor" or not fact.shape or fact.shape[0] == 1:
        return []
    return [str(fact.shape[0])]


STRATEGIES = (map_over_captured,)

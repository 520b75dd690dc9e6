"""Inlining of variables: a variable becomes its value.

Decision: the order of evaluation may change: whether that matters, a query says. Of several assignments to one
name each is followed up to the next one in its block, because scripts write ``x = f(x); x = g(x)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.scopes import Binding
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.rewriting import Rewrite, is_simple


@strategy("inline-variable", tier=Tier.MEDIUM)
def inline_variable(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a variable's value where it is read, and drop the assignment.

    A value that is read several times must be a name, a literal or a part of something; one that is read once may
    be anything. With several assignments in a row each is followed to the next one.
    """
    scopes = program.scopes
    for binding, definitions in scopes.definitions.items():
        uses = scopes.uses.get(binding, [])
        if not uses:
            continue
        if any(not isinstance(getattr(program.node(u), "ctx", None), ast.Load) for u in uses):
            continue
        for definition in definitions:
            yield from _inlined(program, binding, definition, definitions, uses)


def _inlined(
    program: Program, binding: Binding, definition: Path, definitions: list[Path], uses: list[Path]
) -> Iterator[Edit]:
    up, statement = program.parent(definition)
    element: int | None = None
    if isinstance(statement, ast.Tuple | ast.List) and isinstance(definition[-1], int):
        element = definition[-1]
        targets = statement.elts
        up, statement = program.parent(up)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return
    if isinstance(statement, ast.Assign) and len(statement.targets) > 1:
        return
    read = uses if len(definitions) == 1 else _reached(program, definition, up, definitions, uses)
    if not read or any(use[: len(up)] == up for use in read):
        return
    value = statement.value
    if element is not None:
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(targets):
            if any(isinstance(e, ast.Starred) for e in [*value.elts, *targets]):
                return
            value = value.elts[element]
        elif any(isinstance(t, ast.Starred) for t in targets):
            return
        else:
            yield from _indexed(program, up, targets, element, value, read)
            return
    if len(read) > 1 and not is_simple(value):
        return
    rewrite = Rewrite(program)
    for use in read:
        rewrite.replace(use, value)
    if element is None or len(targets) == 1:
        rewrite.delete(up)
    elif isinstance(statement.value, ast.Tuple | ast.List):
        rest = [i for i in range(len(targets)) if i != element]
        new = ast.Assign(
            [_pack([targets[i] for i in rest], ast.Store())], _pack([statement.value.elts[i] for i in rest])
        )
        rewrite.statements(up, [new])
    yield rewrite.edit()


def _pack(nodes: list[ast.expr], context: ast.expr_context | None = None) -> ast.expr:
    return nodes[0] if len(nodes) == 1 else ast.Tuple(nodes, context or ast.Load())


def _indexed(
    program: Program, up: Path, targets: list[ast.expr], element: int, value: ast.expr, read: list[Path]
) -> Iterator[Edit]:
    """``a, b = E`` of which only b is read, once: ``E[1]`` there."""
    scopes = program.scopes
    for i, target in enumerate(targets):
        if i != element:
            binding = scopes.binding((*up, "targets", 0, "elts", i))
            if not isinstance(target, ast.Name) or binding is None or (binding in scopes.uses and target.id != "_"):
                return
    if len(read) > 1 and not is_simple(value):
        return
    rewrite = Rewrite(program)
    for use in read:
        rewrite.replace(use, ast.Subscript(value, ast.Constant(element), ast.Load()))
    rewrite.delete(up)
    yield rewrite.edit()


def _reached(
    program: Program, definition: Path, statement: Path, definitions: list[Path], uses: list[Path]
) -> list[Path]:
    """The uses that the assignment at ``statement`` alone feeds; none when that is not plain."""
    block, index = statement[:-1], statement[-1]
    if not isinstance(index, int):
        return []
    ends: list[int] = []
    for other in definitions:
        if other == definition or other[: len(block)] != block:
            continue
        position = other[len(block)]
        assert isinstance(position, int)
        if position > index:
            whole = program.node((*block, position))
            plain = isinstance(whole, ast.Assign | ast.AnnAssign | ast.With | ast.FunctionDef)
            if not plain:
                # A branch or a loop that assigns again: which value later uses read is not plain.
                return []
            ends.append(position)
    owner = program.node(block[:-1])
    end = min(ends, default=None)
    if end is None and not isinstance(owner, ast.FunctionDef | ast.Module | ast.AsyncFunctionDef):
        return []
    found = []
    for use in uses:
        if use[: len(block)] == block and isinstance(use[len(block)], int):
            position = use[len(block)]
            assert isinstance(position, int)
            if position > index and (end is None or position <= end):
                found.append(use)
    return found

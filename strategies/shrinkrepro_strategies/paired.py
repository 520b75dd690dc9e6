"""Loops over less: ``zip`` and ``enumerate`` of which a part is not used, one turn of a comprehension, or no loop.

Decision: the part and what it is taken from go in one edit, so that the loop goes on over what is left.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, replace
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.blocks import with_values

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)


@strategy("drop-paired", tier=Tier.FINE)
def drop_paired(program: Program, facts: Facts) -> Iterator[Edit]:
    """Loop over less: ``for a, b in zip(x, y)`` where ``a`` is not used -> ``for b in y``; so for ``enumerate``."""
    for path, node in program.walk(ast.For, ast.comprehension):
        parts = _parts(node)
        if parts is None:
            continue
        names, sources = parts
        for i, name in enumerate(names):
            if not isinstance(name, ast.Name) or program.scopes.uses_of((*path, "target", "elts", i)):
                continue
            left = [(n, s) for k, (n, s) in enumerate(zip(names, sources)) if k != i]
            if any(s is None for _, s in left):
                continue
            if len(left) == 1:
                target, source = ast.unparse(left[0][0]), ast.unparse(left[0][1] or ast.Tuple([]))
            else:
                target = ", ".join(ast.unparse(n) for n, _ in left)
                source = f"zip({', '.join(ast.unparse(s) for _, s in left if s is not None)})"
            yield Edit((Change((*path, "target"), target), Change((*path, "iter"), source)))


def _parts(node: ast.For | ast.comprehension) -> tuple[list[ast.expr], list[ast.expr | None]] | None:
    """The targets of a paired loop and what each is taken from; None for a number that is only counted."""
    call, target = node.iter, node.target
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
        return None
    if not isinstance(target, ast.Tuple) or any(isinstance(a, ast.Starred) for a in (*call.args, *target.elts)):
        return None
    if call.func.id == "zip" and len(call.args) == len(target.elts):
        return target.elts, list(call.args)
    if call.func.id == "enumerate" and len(call.args) == 1 and len(target.elts) == 2:
        return target.elts, [None, call.args[0]]
    return None


@strategy("one-element", tier=Tier.MEDIUM)
def one_element(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make only the element that is looked up: ``[f(v) for v in x][2]`` -> ``f(x[2])``."""
    for path, node in program.walk(ast.Subscript):
        made, index = node.value, node.slice
        if not isinstance(made, _COMPREHENSIONS) or len(made.generators) != 1 or not isinstance(node.ctx, ast.Load):
            continue
        turn = made.generators[0]
        text = ast.unparse(index)
        if turn.ifs or turn.is_async or not text.lstrip("-").isdigit():
            continue
        given = _given(turn, text)
        if given is not None:
            yield replace(path, ast.unparse(ast.fix_missing_locations(with_values(made.elt, given))))


def _given(turn: ast.comprehension, index: str) -> dict[str, ast.expr] | None:
    if isinstance(turn.target, ast.Name):
        return {turn.target.id: _item(turn.iter, index)}
    parts = _parts(turn)
    if parts is None or not all(isinstance(name, ast.Name) for name in parts[0]):
        return None
    number = ast.parse(index, mode="eval").body
    return {
        name.id: number if source is None else _item(source, index)
        for name, source in zip(*parts)
        if isinstance(name, ast.Name)
    }


@strategy("iterable-for-comprehension", tier=Tier.MEDIUM)
def iterable_for_comprehension(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put what a comprehension runs over for one that only hands on: ``[v for v in x]`` -> ``x``, ``list(x)``."""
    for path, node in program.walk(ast.ListComp, ast.GeneratorExp, ast.SetComp):
        over = handed_on(node, node.elt)
        if over is not None:
            source = program.text(over)
            yield replace(path, source)
            yield replace(path, f"{'set' if isinstance(node, ast.SetComp) else 'list'}({source})")


def handed_on(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, made: ast.expr) -> ast.expr | None:
    """What a comprehension that makes ``made`` of each item runs over, where that is the item itself."""
    turn = node.generators[0]
    same = len(node.generators) == 1 and not turn.ifs and ast.unparse(made) == ast.unparse(turn.target)
    return turn.iter if same else None


def _item(source: ast.expr, index: str) -> ast.expr:
    return ast.Subscript(source, ast.parse(index, mode="eval").body, ast.Load())


STRATEGIES = (one_element, iterable_for_comprehension, drop_paired)

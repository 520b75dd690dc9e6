"""Containers that are made empty and filled statement by statement: they become the literal that they end as.

Decision: the literal stands where the last value is put in, so that every value is made after what it is made of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy


@strategy("literal-for-filling", tier=Tier.MEDIUM)
def literal_for_filling(program: Program, facts: Facts) -> Iterator[Edit]:
    """Write a list or dict down with what is put into it: ``a = []; a.append(x)`` -> ``a = [x]``."""
    for path, node in program.walk(ast.Assign):
        target = node.targets[0]
        start = _literal(node.value)
        if start is None or len(node.targets) > 1 or not isinstance(target, ast.Name):
            continue
        _, parent = program.parent(path)
        block: list[ast.stmt] = getattr(parent, str(path[-2]))
        found: list[tuple[int, ast.List | ast.Dict]] = []
        for at in range(int(path[-1]) + 1, len(block)):
            more = _filling(block[at], target.id, isinstance(start, ast.Dict))
            if more is not None and not _mentions(more, target.id):
                found.append((at, more))
            elif _mentions(block[at], target.id):
                break
        if found:
            whole = _joined([start, *(more for _, more in found)])
            *earlier, (last, _) = found
            gone = [Change(path), *(Change((*path[:-1], at)) for at, _ in earlier)]
            yield Edit((*gone, Change((*path[:-1], last), f"{target.id} = {ast.unparse(whole)}")))


def _literal(value: ast.expr) -> ast.List | ast.Dict | None:
    """A list or dict as its literal, ``list()`` and ``dict(a=1)`` too."""
    if isinstance(value, ast.List | ast.Dict):
        return value
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or value.args:
        return None
    if value.func.id == "list" and not value.keywords:
        return ast.List([], ast.Load())
    return _of_keywords(value.keywords) if value.func.id == "dict" else None


def _of_keywords(keywords: list[ast.keyword]) -> ast.Dict:
    return ast.Dict([ast.Constant(k.arg) if k.arg is not None else None for k in keywords], [k.value for k in keywords])


def _filling(statement: ast.stmt, name: str, is_dict: bool) -> ast.List | ast.Dict | None:
    """What ``statement`` puts into the list or dict that is called ``name``, where that is all it does."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add | ast.BitOr):
        return _same(statement.value, is_dict) if _is(statement.target, name) else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if is_dict and isinstance(target, ast.Subscript) and _is(target.value, name):
            return ast.Dict([target.slice], [statement.value])
        return None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not _is(call.func.value, name):
        return None
    if call.func.attr == "append" and not is_dict and len(call.args) == 1:
        return ast.List(call.args, ast.Load())
    if call.func.attr == "extend" and len(call.args) == 1:
        return _same(call.args[0], is_dict)
    if call.func.attr == "update" and is_dict and len(call.args) < 2:
        first = _same(call.args[0], is_dict) if call.args else ast.Dict([], [])
        return _joined([first, _of_keywords(call.keywords)]) if first is not None else None
    return None


def _same(value: ast.expr, is_dict: bool) -> ast.List | ast.Dict | None:
    if isinstance(value, ast.Tuple) and not is_dict:
        return ast.List(value.elts, ast.Load())
    return value if isinstance(value, ast.Dict if is_dict else ast.List) else None


def _joined(parts: list[ast.List | ast.Dict]) -> ast.List | ast.Dict:
    if isinstance(parts[0], ast.List):
        return ast.List([e for part in parts if isinstance(part, ast.List) for e in part.elts], ast.Load())
    dicts = [part for part in parts if isinstance(part, ast.Dict)]
    return ast.Dict([k for part in dicts for k in part.keys], [v for part in dicts for v in part.values])


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(below, ast.Name) and below.id == name for below in ast.walk(node))


STRATEGIES = (literal_for_filling,)

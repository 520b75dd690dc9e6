"""Sides: the two things that a check compares, and the same part taken of both.

Decision: what one side is made of is followed through variables and the returns of the program's own functions, since
a script computes a thing in two ways in two places; both are cut in one edit, for one alone makes them differ.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program, last_name
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.callees import assigned_value, callee_of, definition_of

_COMPARING = frozenset(
    {"allclose", "assert_close", "isclose", "equal", "eq", "assert_allclose", "assertEqual", "array_equal"}
)
_DISTANCES = frozenset({"abs", "norm", "max", "amax", "any", "square", "pow", "sum", "mean", "item"})
_FARTHEST = 8  # variables and returns between a check and what it compares


@strategy("part-of-both-sides", tier=Tier.COARSE)
def part_of_both_sides(program: Program, facts: Facts) -> Iterator[Edit]:
    """Compare a part of each side with that of the other, where both are made in the same way.

    Example: ``assert allclose(a - b, c - d)`` -> ``assert allclose(b, d)``, also where functions return the two sides.
    """
    seen: set[tuple[Path, Path]] = set()
    for first, second in _compared(program):
        one, other = _makings(program, facts, first), _makings(program, facts, second)
        for left in one:
            for right in other:
                if left == right or (left, right) in seen:
                    continue
                seen.add((left, right))
                yield from _parts(program, left, right)


def _parts(program: Program, left: Path, right: Path) -> Iterator[Edit]:
    if left[: len(right)] == right or right[: len(left)] == left:
        return
    for below in _shared(program.node(left), program.node(right)):
        texts = [program.text(program.node((*side, *below))) for side in (left, right)]
        yield Edit((Change(left, texts[0]), Change(right, texts[1])))


def _shared(left: ast.AST, right: ast.AST) -> Iterator[Path]:
    """Where two expressions of the same form have their parts."""
    if isinstance(left, ast.BinOp) and isinstance(right, ast.BinOp):
        yield from (("right",), ("left",))
    elif isinstance(left, ast.UnaryOp) and isinstance(right, ast.UnaryOp):
        yield ("operand",)
    elif isinstance(left, ast.Subscript) and isinstance(right, ast.Subscript):
        yield ("value",)
    elif isinstance(left, ast.Tuple | ast.List) and isinstance(right, ast.Tuple | ast.List):
        both = range(min(len(left.elts), len(right.elts)))
        yield from (("elts", i) for i in both if not isinstance(left.elts[i], ast.Starred))
    elif (
        isinstance(left, ast.Call)
        and isinstance(right, ast.Call)
        and last_name(left.func) == last_name(right.func) != ""
    ):
        if isinstance(left.func, ast.Attribute) and isinstance(right.func, ast.Attribute):
            yield ("func", "value")
        both = range(min(len(left.args), len(right.args)))
        yield from (("args", i) for i in both if not isinstance(left.args[i], ast.Starred))


def _makings(program: Program, facts: Facts, path: Path) -> list[Path]:
    """The expression at ``path`` and those that its value is handed on from."""
    found = [path]
    while len(found) < _FARTHEST:
        at = _handed(program, facts, found[-1])
        if at is None or at in found:
            break
        found.append(at)
    return found


def _handed(program: Program, facts: Facts, path: Path) -> Path | None:
    node = program.node(path)
    if isinstance(node, ast.Name):
        definition = definition_of(program, path)
        return assigned_value(program, definition) if definition is not None else None
    callee = callee_of(program, facts, path)
    if callee is None:
        return None
    if isinstance(callee.node, ast.Lambda):
        return (*callee.path, "body")
    returns = [(at, s) for at, s in program.walk(ast.Return) if at[: len(callee.path)] == callee.path]
    own = [(at, s) for at, s in returns if (program.enclosing(at, ast.FunctionDef) or ((),))[0] == callee.path]
    return (*own[0][0], "value") if len(own) == 1 and own[0][1].value is not None else None


def _compared(program: Program) -> Iterator[tuple[Path, Path]]:
    for path, node in program.walk(ast.expr):
        if isinstance(node, ast.Call) and last_name(node.func) in _COMPARING:
            receiver = isinstance(node.func, ast.Attribute) and len(node.args) == 1
            sides: list[Path] = [(*path, "func", "value")] if receiver else []
            sides += [(*path, "args", i) for i in range(min(2, len(node.args)))]
            if len(sides) >= 2 and not any(isinstance(program.node(side), ast.Starred) for side in sides[:2]):
                yield sides[0], sides[1]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            yield (*path, "left"), (*path, "comparators", 0)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _is_measured(program, path):
            yield (*path, "left"), (*path, "right")


def _is_measured(program: Program, path: Path) -> bool:
    """Whether the difference at ``path`` is asked for its size."""
    _, above = program.parent(path)
    if isinstance(above, ast.Attribute):
        return above.attr in _DISTANCES
    return isinstance(above, ast.Compare) or (isinstance(above, ast.Call) and last_name(above.func) in _DISTANCES)


STRATEGIES = (part_of_both_sides,)

"""Frames: the calls that were under way when the program failed.

Decision: an expression without a fact whose operands all have one is where a frame of the failure stands; that is
exact, and costs no query.
"""

from __future__ import annotations

import ast

from shrinkrepro.core.edits import Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program

_DEPTH = 12  # calls that are followed outwards


def running(program: Program, facts: Facts) -> list[Path]:
    """Paths of the expressions that were being evaluated at the failure, outermost frame first; empty without facts."""
    if not facts.known:
        return []
    found: list[tuple[int, Path]] = []
    for path, node in program.walk(ast.Call, ast.BinOp, ast.Subscript, ast.Compare, ast.UnaryOp):
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            continue
        _, statement = program.statement_of(path)
        if not facts.ran(statement):
            continue
        started = _started(program, facts, path, statement)
        if _finished(facts, path, started):
            continue
        below = operands(path, node)
        if all(_finished(facts, at, started) or _is_silent(child) for at, child in below):
            orders = [fact.order for fact in (facts.of(at) for at, _ in below) if fact is not None]
            if orders:
                found.append((max(orders), path))
    return [path for _, path in sorted(found, key=lambda item: item[0])]


def callers(program: Program, facts: Facts, path: Path) -> list[Path]:
    """Paths of the calls that were under way when the expression at ``path`` was evaluated first, innermost first."""
    found: list[Path] = []
    for _ in range(_DEPTH):
        fact = facts.of(path)
        function = program.enclosing(path, ast.FunctionDef)
        if function is None or fact is None:
            break
        node = function[1]
        lines = {node.lineno, *(decorator.lineno for decorator in node.decorator_list)}
        later = [
            (other.order, at)
            for at, other in facts.items().items()
            if other.callee in lines and other.order > fact.order
        ]
        if not later:
            break
        path = min(later)[1]
        found.append(path)
    return [*found, *running(program, facts)]


def stuck_tests(program: Program, facts: Facts) -> list[Path]:
    """Paths of the conditions whose value was known but whose truth was not: no branch was taken."""
    found: list[tuple[int, Path]] = []
    for path, node in program.walk(ast.If, ast.While, ast.IfExp, ast.Assert):
        at: Path = (*path, "test")
        fact = facts.of(at)
        if fact is None or fact.kind != "tensor":
            continue
        if isinstance(node, ast.IfExp):
            taken = any(facts.of((*path, name)) is not None for name in ("body", "orelse"))
        else:
            inner = [*getattr(node, "body", ()), *getattr(node, "orelse", ())]
            taken = any(facts.count(statement) for statement in inner) or isinstance(node, ast.Assert)
        if not taken:
            found.append((fact.order, at))
    return [path for _, path in sorted(found)]


def stuck_stores(program: Program, facts: Facts) -> list[Path]:
    """Paths of the assignments to an item whose value was known but after which nothing ran."""
    found: list[tuple[int, Path]] = []
    for path, node in program.walk(ast.Assign):
        fact = facts.of((*path, "value"))
        if fact is None or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Subscript):
            continue
        place, block = path[-1], getattr(program.parent(path)[1], str(path[-2]), [])
        following = block[place + 1 : place + 2] if isinstance(place, int) else []
        if following and facts.count(_header(following[0])) < facts.count(node):
            found.append((fact.order, path))
    return [path for _, path in sorted(found)]


def _header(statement: ast.stmt) -> ast.stmt:
    """A statement that stands for the first line of ``statement`` alone."""
    return ast.Pass(lineno=statement.lineno, end_lineno=statement.lineno, col_offset=0)


def _is_silent(node: ast.expr) -> bool:
    """Whether an operand is not observed, or hardly fails by itself."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Slice | ast.Name | ast.Lambda)


_CONDITIONAL = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp)


def _started(program: Program, facts: Facts, path: Path, statement: ast.stmt) -> int:
    """How often the expression at ``path`` was begun, as far as lines tell."""
    if hasattr(statement, "body"):
        return 1
    for _, above in program.ancestors(path):
        if above is statement:
            break
        if isinstance(above, _CONDITIONAL):
            return 1
    return facts.count(statement)


def _finished(facts: Facts, path: Path, started: int) -> bool:
    fact = facts.of(path)
    return fact is not None and fact.count >= started


def operands(path: Path, node: ast.AST) -> list[tuple[Path, ast.expr]]:
    """The expressions that ``node`` works on, with their paths."""
    found: list[tuple[Path, ast.expr]] = []
    for name, value in ast.iter_fields(node):
        children = [((*path, name), value)] if isinstance(value, ast.AST) else []
        if isinstance(value, list):
            children = [((*path, name, i), item) for i, item in enumerate(value)]
        for at, child in children:
            if isinstance(child, ast.keyword | ast.Starred):
                found.append(((*at, "value"), child.value))
            elif isinstance(child, ast.expr):
                found.append((at, child))
    return found

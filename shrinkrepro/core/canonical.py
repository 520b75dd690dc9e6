"""The canonical text of a reduced program: equal for two programs that differ only in what is accidental.

Decision: names go by first appearance and numbers by their rank among the program's numbers of one kind; what a check
says when it fails is dropped, and the usual ways to compare two values are one. Everything else must be the same to the
letter, so that two bugs are never one.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from shrinkrepro.core.edits import Path
from shrinkrepro.core.program import Program, last_name

_COMPARED = "compare"  # the one form of a comparison
_CLOSE = frozenset({"assert_close", "allclose", "assert_allclose", "equal"})


def canonical(source: str) -> str:
    """The canonical text of ``source``; ``source`` itself where it does not parse."""
    try:
        program = Program.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return source
    tree = copy.deepcopy(program.tree)
    _rename(program, tree)
    tree = _Checks().visit(tree)
    _rank(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _rename(program: Program, tree: ast.Module) -> None:
    """Give the program's own variables names by first appearance; imported names stay, without their ``as``."""
    copies = dict(zip(map(id, ast.walk(program.tree)), ast.walk(tree)))
    scopes = program.scopes
    names: dict[object, str] = {}
    imported = {
        binding: getattr(program.node(path), "name", "")
        for binding, paths in scopes.definitions.items()
        for path in paths
        if isinstance(program.node(path), ast.alias)
    }
    for path in _appearances(program):
        binding = scopes.binding(path)
        if binding is None:
            continue
        if binding in imported:
            _set_name(copies[id(program.node(path))], imported[binding].rpartition(".")[2])
            continue
        _set_name(copies[id(program.node(path))], names.setdefault(binding, f"v{len(names)}"))
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            node.asname = None


def _appearances(program: Program) -> Iterator[Path]:
    """Paths of definitions and uses, in the order of the text."""
    found = [path for paths in program.scopes.definitions.values() for path in paths]
    found += [path for paths in program.scopes.uses.values() for path in paths]
    yield from sorted(set(found), key=lambda path: _place(program.node(path)))


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _set_name(node: ast.AST, name: str) -> None:
    if isinstance(node, ast.Name):
        node.id = name
    elif isinstance(node, ast.arg):
        node.arg = name
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
        node.name = name


class _Checks(ast.NodeTransformer):
    """Brings the checks to one form."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return self._compared(node.test) or ast.Assert(self.visit(node.test), None)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return self._compared(node.value) or self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        test = node.test
        negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if negated and not node.orelse and len(node.body) == 1 and _leaves(node.body[0]):
            assert isinstance(test, ast.UnaryOp)
            return self._compared(test.operand) or ast.Assert(self.visit(test.operand), None)
        return self.generic_visit(node)

    def _compared(self, node: ast.expr) -> ast.AST | None:
        if not isinstance(node, ast.Call) or len(node.args) < 2:
            return None
        if last_name(node.func) not in _CLOSE:
            return None
        args = [self.visit(argument) for argument in node.args[:2]]
        return ast.Expr(ast.Call(ast.Name(_COMPARED, ast.Load()), args, []))


def _leaves(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) in ("sys.exit", "exit", "quit")


def _rank(tree: ast.Module) -> None:
    """Put for each number its rank among those of its type; True, False and None are no numbers."""
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    for kind in (int, float, complex):
        mine = [node for node in constants if type(node.value) is kind]
        values = sorted({node.value for node in mine}, key=lambda value: (abs(value), repr(value)))  # type: ignore[arg-type]
        for node in mine:
            node.value = kind(values.index(node.value))

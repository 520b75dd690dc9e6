"""A program's tree with recorder calls around its expressions and before its statements.

Decision: every inserted node takes the position of what it stands for and the file name stays, so tracebacks,
inspect and linecache show the original text; where a call could change what the program means, none is put.
"""

from __future__ import annotations

import ast
from typing import Any, Dict, List, Set, Tuple, Type

VALUE = "__shrinkrepro_value__"  # (number of the expression, its value) -> the value
LINE = "__shrinkrepro_line__"  # (line of the statement) -> None

# Displays and literals of these kinds say what they are in the text.
_PLAIN: Tuple[Type[ast.expr], ...] = (ast.Constant, ast.Starred, ast.Slice, ast.JoinedStr)


class Instrumented:
    """The instrumented ``tree`` and what its expression numbers mean."""

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)
        self.keys: List[str] = []  # wire key of each expression
        self.callee: Dict[int, int] = {}  # number of a call -> number of the expression it calls
        self.class_lines: Dict[str, int] = {}  # qualified name -> line of the class statement
        _collect_classes(self.tree, "", self.class_lines)
        imported = _imported_names(self.tree)
        _Instrumenter(self, imported).block(self.tree.body, docstring=True)
        ast.fix_missing_locations(self.tree)


class _Instrumenter:
    def __init__(self, out: Instrumented, imported: Set[str]) -> None:
        self.out = out
        self.imported = imported

    def block(self, body: List[ast.stmt], docstring: bool = False) -> None:
        """Instrument the statements of ``body`` in place."""
        result: List[ast.stmt] = []
        for number, statement in enumerate(body):
            line = statement.lineno
            first_text = docstring and number == 0 and _is_text(statement)
            future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
            if not first_text and not future:
                result.append(_at(statement, ast.Expr(value=_call(statement, LINE, [ast.Constant(value=line)]))))
                self.statement(statement)
            result.append(statement)
        body[:] = result

    def statement(self, node: ast.stmt) -> None:
        """Instrument what ``node`` evaluates, and its blocks."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._defaults(node.args)
            self.block(node.body, docstring=True)
        elif isinstance(node, ast.ClassDef):
            self.block(node.body, docstring=True)
        elif isinstance(node, ast.AnnAssign):
            self._target(node.target)
            if node.value is not None:
                node.value = self.value(node.value)
        elif type(node).__name__ in ("Match", "TypeAlias"):
            self._match(node)
        elif isinstance(node, (ast.Try,)) or type(node).__name__ == "TryStar":
            self._try(node)
        else:
            self._fields(node)

    def _fields(self, node: ast.AST) -> None:
        for name, child in ast.iter_fields(node):
            if isinstance(child, list):
                if child and isinstance(child[0], ast.stmt):
                    self.block(child)
                else:
                    child[:] = [self._child(item) for item in child]
            elif isinstance(child, ast.AST):
                setattr(node, name, self._child(child))

    def _child(self, node: Any) -> Any:
        if isinstance(node, ast.expr):
            if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
                self._target(node)
                return node
            return self.value(node)
        if isinstance(node, (ast.withitem, ast.keyword, ast.comprehension)):
            self._fields(node)
        return node

    def _target(self, node: ast.expr) -> None:
        """Instrument the loads inside a target: the ``x`` and ``i`` of ``x.a`` and ``x[i]``."""
        if isinstance(node, ast.Attribute):
            node.value = self.value(node.value)
        elif isinstance(node, ast.Subscript):
            node.value = self.value(node.value)
            node.slice = self._slice(node.slice)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for item in node.elts:
                self._target(item)
        elif isinstance(node, ast.Starred):
            self._target(node.value)

    def value(self, node: ast.expr) -> ast.expr:
        """``node`` with a recorder around it, and around what it is made of."""
        if isinstance(node, (ast.Constant, ast.JoinedStr)) or type(node).__name__ == "TemplateStr":
            return node
        callee = -1
        if isinstance(node, ast.Call):
            node.func, callee = self._function(node.func)
            node.args = [self.value(item) for item in node.args]
            for keyword in node.keywords:
                keyword.value = self.value(keyword.value)
        elif isinstance(node, ast.Subscript):
            node.value = self.value(node.value)
            node.slice = self._slice(node.slice)
        elif isinstance(node, ast.Attribute):
            if not self._is_module_path(node):
                node.value = self.value(node.value)
        elif isinstance(node, ast.Lambda):
            self._defaults(node.args)
            node.body = self.value(node.body)
        elif isinstance(node, ast.Dict):
            node.keys = [None if key is None else self.value(key) for key in node.keys]
            node.values = [self.value(item) for item in node.values]
        elif isinstance(node, ast.NamedExpr):
            node.value = self.value(node.value)
        elif not isinstance(node, ast.Name):
            self._fields(node)
        if isinstance(node, _PLAIN):
            return node
        return self._record(node, callee)

    def _record(self, node: ast.expr, callee: int = -1) -> ast.expr:
        number = len(self.out.keys)
        self.out.keys.append(position_key(node))
        if callee >= 0:
            self.out.callee[number] = callee
        return _call(node, VALUE, [ast.Constant(value=number), node])

    def _function(self, node: ast.expr) -> Tuple[ast.expr, int]:
        """What a call calls, and the number under which it is recorded."""
        if isinstance(node, ast.Name) and node.id == "super":
            return node, -1
        wrapped = self.value(node)
        return wrapped, len(self.out.keys) - 1 if wrapped is not node else -1

    def _slice(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Slice):
            for name in ("lower", "upper", "step"):
                part = getattr(node, name)
                if part is not None:
                    setattr(node, name, self.value(part))
            return node
        if isinstance(node, ast.Tuple):
            node.elts = [self._slice(item) for item in node.elts]
            return node if any(isinstance(item, (ast.Slice, ast.Starred)) for item in node.elts) else self._record(node)
        return self.value(node)

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.value(item) for item in arguments.defaults]
        arguments.kw_defaults = [None if item is None else self.value(item) for item in arguments.kw_defaults]

    def _try(self, node: Any) -> None:
        self.block(node.body)
        for handler in node.handlers:
            self.block(handler.body)
        self.block(node.orelse)
        self.block(node.finalbody)

    def _match(self, node: Any) -> None:
        if type(node).__name__ != "Match":
            return
        node.subject = self.value(node.subject)
        for case in node.cases:
            if case.guard is not None:
                case.guard = self.value(case.guard)
            self.block(case.body)

    def _is_module_path(self, node: ast.expr) -> bool:
        """``torch.nn.functional.relu``: only the whole says something."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.imported


def position_key(node: ast.expr) -> str:
    """The wire key of an expression, as ``core.facts`` makes it."""
    return "%d:%d:%s:%s:%s" % (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, type(node).__name__)


def _at(place: ast.AST, node: Any) -> Any:
    return ast.copy_location(node, place)


def _call(place: ast.AST, name: str, arguments: List[ast.expr]) -> ast.Call:
    arguments = [item if hasattr(item, "lineno") else _at(place, item) for item in arguments]
    function = _at(place, ast.Name(id=name, ctx=ast.Load()))
    call: ast.Call = _at(place, ast.Call(func=function, args=arguments, keywords=[]))
    return call


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imported_names(tree: ast.Module) -> Set[str]:
    """Names that ``import`` binds to modules."""
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }


def _collect_classes(node: ast.AST, prefix: str, found: Dict[str, int]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            found.setdefault(prefix + child.name, child.lineno)
            _collect_classes(child, prefix + child.name + ".", found)
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _collect_classes(child, prefix + child.name + ".<locals>.", found)
        else:
            _collect_classes(child, prefix, found)

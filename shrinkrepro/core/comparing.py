"""Puts a comparison of two expressions into a script that does not fail by itself.

Decision: the comparison is the script's last line, after its own code; where the expressions' names are a function's
own, it stands at the end of that function, where they are bound.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import symtable
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_EXITS = ("exit", "quit", "SystemExit", "sys.exit", "os._exit")
_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__"}


class ExpressionError(ValueError):
    """An expression cannot be put into the script. ``hint`` says what could."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Compared:
    """A script with lines added to it. ``line`` is the number of the last one of them."""

    text: str
    line: int


def expression(text: str) -> str:
    """``text`` as one argument of a call.

    Raises:
        ExpressionError: it is no expression.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if isinstance(tree, ast.Starred | ast.Yield | ast.YieldFrom | ast.Await):
            raise SyntaxError("it has no value of its own")
    except (SyntaxError, ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ExpressionError(
            f"{text!r} is not an expression: {reason}", "write it as in the script, such as 'out.grad' or 'rows[0][1]'"
        ) from None
    plain = not isinstance(tree, ast.Tuple | ast.NamedExpr | ast.GeneratorExp) and "\n" not in text and "#" not in text
    return text.strip() if plain else ast.unparse(tree)


def torch_name(source: str) -> str | None:
    """The name that module ``source`` has torch under, on its own level; None when it has none."""
    for statement in _level(ast.parse(source).body):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "torch" or (alias.name.startswith("torch.") and alias.asname is None):
                    return alias.asname or "torch"
    return None


def with_lines(source: str, lines: Sequence[str], expressions: Sequence[str]) -> Compared:
    """``source`` with ``lines`` put where the names of ``expressions`` are bound, as late as that can be.

    Raises:
        ExpressionError: a name is bound nowhere, or nowhere together with the others.
    """
    names = {name for text in expressions for name in _names(text)} - {"torch"}
    table = symtable.symtable(source, "script", "exec")
    tree = ast.parse(source)
    missing = names - _bound(table) - _BUILTINS
    if not missing or any(_takes_all(node) for node in ast.walk(tree)):
        return _at_end(source, tree.body, lines)
    scopes = list(_functions(table))
    home = [scope for scope in scopes if missing <= set(scope.get_locals()) | set(scope.get_frees())]
    if not home:
        everything = _bound(table).union(*(scope.get_locals() for scope in scopes)) - _BUILTINS
        raise _unknown(sorted(missing), everything)
    function = _definition(tree, home[-1])
    return _in_function(source, tree, function, lines)


def _unknown(missing: Sequence[str], known: set[str]) -> ExpressionError:
    absent = [name for name in missing if name not in known]
    if not absent:
        return ExpressionError(
            f"no function of the script has all of {', '.join(map(repr, missing))}",
            "give two expressions that one place of the script can see",
        )
    near = difflib.get_close_matches(absent[0], sorted(known), 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "its names are " + ", ".join(sorted(known)[:12])
    return ExpressionError(f"the script has no name {absent[0]!r}", hint)


def nearest(name: str, source: str) -> tuple[str, ...]:
    """The names of ``source`` that ``name`` may have been meant for, the most alike first."""
    table = symtable.symtable(source, "script", "exec")
    known = _bound(table).union(*(scope.get_locals() for scope in _functions(table)))
    return tuple(difflib.get_close_matches(name, sorted(known - _BUILTINS), 3, 0.5))


def _names(text: str) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)]
    own = {node.id for node in nodes if not isinstance(node.ctx, ast.Load)}
    tree = ast.parse(text, mode="eval")
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return {node.id for node in nodes} - own


def _bound(table: symtable.SymbolTable) -> set[str]:
    names = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    for scope in _functions(table):
        names |= {s.get_name() for s in scope.get_symbols() if s.is_declared_global() and s.is_assigned()}
    return names


def _functions(table: symtable.SymbolTable) -> Iterator[symtable.Function]:
    for child in table.get_children():
        named = child.get_name() not in ("lambda", "listcomp", "setcomp", "dictcomp", "genexpr")
        if isinstance(child, symtable.Function) and named:
            yield child
        yield from _functions(child)


def _definition(tree: ast.Module, scope: symtable.Function) -> ast.FunctionDef | ast.AsyncFunctionDef:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == scope.get_name():
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first <= scope.get_lineno() <= node.lineno:
                return node
    raise ExpressionError(f"{scope.get_name()} is not a plain function", "give names of the script's own level")


def _takes_all(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _level(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one level, with those of its blocks."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from _level(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from _level(handler.body)


def _at_end(source: str, body: Sequence[ast.stmt], lines: Sequence[str]) -> Compared:
    last = body[-1] if body else None
    while isinstance(last, ast.If) and last.body and not last.orelse:
        last = last.body[-1]
    value = _exit_value(last)
    if last is None or value is None:
        text = source.rstrip("\n") + "\n" + "\n".join(lines) + "\n"
        return Compared(text, text.count("\n"))
    kept = ast.unparse(value) if isinstance(value, ast.Call) else "pass"
    rows = source.splitlines()
    row = rows[last.lineno - 1]
    before = row.encode()[: last.col_offset].decode()
    indent = before if not before.strip() else " " * (len(before) - len(before.lstrip()))
    head = [*rows[: last.lineno - 1], before + kept]
    tail = rows[last.end_lineno or last.lineno :]
    text = "\n".join([*head, *(indent + line for line in lines), *tail]) + "\n"
    return Compared(text, len(head) + len(lines))


def _exit_value(statement: ast.stmt | None) -> ast.expr | None:
    """What the exit statement ``statement`` ends with, ``None`` the constant if nothing; None if it is none."""
    call = statement.value if isinstance(statement, ast.Expr) else getattr(statement, "exc", None)
    if isinstance(call, ast.Call) and ast.unparse(call.func) in _EXITS:
        return call.args[0] if call.args else ast.Constant(None)
    return ast.Constant(None) if isinstance(call, ast.Name) and call.id == "SystemExit" else None


def _in_function(
    source: str, tree: ast.Module, function: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]
) -> Compared:
    last = function.body[-1]
    rows = source.splitlines()
    row = rows[last.lineno - 1].encode()[: last.col_offset].decode()
    if row.strip() or ";" in rows[(last.end_lineno or last.lineno) - 1]:  # not a line of its own
        source = ast.unparse(tree)
        again = ast.parse(source)
        same = [n for n in ast.walk(again) if isinstance(n, type(function)) and n.name == function.name]
        index = [n for n in ast.walk(tree) if isinstance(n, type(function)) and n.name == function.name].index(function)
        return _in_function(source, again, same[index], lines)
    ends = isinstance(last, ast.Return | ast.Raise)
    at = last.lineno - 1 if ends else last.end_lineno or last.lineno
    added = textwrap.indent("\n".join(lines), row).splitlines()
    text = "\n".join([*rows[:at], *added, *rows[at:]]) + "\n"
    return Compared(text, at + len(added))

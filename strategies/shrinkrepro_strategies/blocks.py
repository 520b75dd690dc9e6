"""Blocks: what the general strategies ask of statements and expressions.

Decision: these are readings of one program, without proposals; strategies share them so that "cheap",
"reached" and "the text of a block" mean the same everywhere.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence

from shrinkrepro.core.edits import Path, source_of
from shrinkrepro.core.facts import ExprFact, Facts
from shrinkrepro.core.program import Program

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_TELLERS = ("log", "warnings", "console", "writer", "progress", "bar")
_TELLING = frozenset(
    ("debug", "info", "warning", "warn", "error", "exception", "critical", "log", "print", "write", "basicConfig",
     "setLevel", "set_description", "update", "add_scalar", "flush", "close", "simplefilter", "filterwarnings")
)  # fmt: skip
_EFFECTS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def is_cheap(node: ast.AST) -> bool:
    """Whether evaluating ``node`` calls nothing, so that leaving it out can hardly be noticed."""
    return not any(isinstance(child, _EFFECTS) for child in ast.walk(node))


def is_docstring(node: ast.AST) -> bool:
    """Whether ``node`` is an expression statement that is only a constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_report(node: ast.expr) -> bool:
    """Whether ``node`` is a call that only tells somebody something: a print, a log, a progress bar."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Name):
        return function.id in ("print", "pprint", "warn")
    if isinstance(function, ast.Attribute):
        root: ast.expr = function.value
        while isinstance(root, ast.Attribute | ast.Call):
            root = root.value if isinstance(root, ast.Attribute) else root.func
        name = root.id.lower() if isinstance(root, ast.Name) else ""
        return function.attr in _TELLING and any(word in name for word in _TELLERS)
    return False


def block_text(body: Sequence[ast.stmt]) -> str:
    """The source of ``body`` as something to splice into another block: empty when it does nothing."""
    kept = [s for s in body if not isinstance(s, ast.Pass)]
    return source_of(kept) if kept else ""


def statement_lists(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The blocks that ``node`` holds directly, with their field names."""
    for field in ("body", "orelse", "finalbody"):
        value = getattr(node, field, None)
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield field, value


def reached(statement: ast.stmt, facts: Facts) -> bool:
    """Whether control came to ``statement`` (for a definition: whether it was defined)."""
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
    last = statement.lineno if isinstance(statement, DEFINITIONS) else statement.end_lineno or statement.lineno
    return facts.count(ast.Pass(lineno=first, end_lineno=last, col_offset=0, end_col_offset=0)) > 0


def any_reached(body: Iterable[ast.stmt], facts: Facts) -> bool:
    """Whether control came into ``body`` (a bare constant or ``pass`` leaves no trace and counts as not)."""
    return any(reached(s, facts) for s in body)


def leaves_nothing(body: Sequence[ast.stmt]) -> bool:
    """Whether all of ``body`` is constants and ``pass``: Python runs it without a trace."""
    return all(is_docstring(s) or isinstance(s, ast.Pass) for s in body)


def without_jumps(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """``body`` of a loop, as it can stand outside of it: without its own ``break`` and ``continue``."""
    result: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Break | ast.Continue):
            break
        if isinstance(statement, LOOPS):
            new = copy.copy(statement)
            new.orelse = without_jumps(statement.orelse)
            result.append(new)
        elif isinstance(statement, DEFINITIONS):
            result.append(statement)
        else:
            result.extend(_compound_without_jumps(statement))
    return result


def _compound_without_jumps(statement: ast.stmt) -> list[ast.stmt]:
    if not any(isinstance(n, ast.Break | ast.Continue) for n in ast.walk(statement)):
        return [statement]
    new = copy.copy(statement)
    for field, value in statement_lists(statement):
        setattr(new, field, without_jumps(value))
    if isinstance(new, ast.Try):
        new.handlers = [copy.copy(h) for h in new.handlers]
        for handler in new.handlers:
            handler.body = without_jumps(handler.body) or [ast.Pass()]
    if isinstance(new, ast.If) and not new.body and not new.orelse:
        return []
    if not getattr(new, "body", [1]):
        new.body = [ast.Pass()]  # type: ignore[attr-defined]
    return [new]


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node) if isinstance(node.ctx, ast.Load) else node


def substitute(nodes: Sequence[ast.stmt] | Sequence[ast.expr], name: str, value: ast.expr) -> list[ast.AST]:
    """Copies of ``nodes`` that read ``value`` where they read ``name``."""
    return [_Substitution({name: value}).visit(copy.deepcopy(node)) for node in nodes]


def with_values(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """A copy of ``node`` that reads each of ``values`` where it reads that name, all at once."""
    new: ast.expr = _Substitution(values).visit(copy.deepcopy(node))
    return new


def reads(node: ast.AST | Sequence[ast.AST], name: str) -> int:
    """How often ``name`` is read in ``node``."""
    nodes = [node] if isinstance(node, ast.AST) else node
    return sum(
        1
        for n in nodes
        for c in ast.walk(n)
        if isinstance(c, ast.Name) and c.id == name and isinstance(c.ctx, ast.Load)
    )


def writes(nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether ``name`` is bound or deleted in ``nodes``."""
    return any(
        isinstance(c, ast.Name) and c.id == name and not isinstance(c.ctx, ast.Load) for n in nodes for c in ast.walk(n)
    )


def names_read(node: ast.AST) -> set[str]:
    """The names that ``node`` reads."""
    return {c.id for c in ast.walk(node) if isinstance(c, ast.Name) and isinstance(c.ctx, ast.Load)}


def is_target(program: Program, path: Path) -> bool:
    """Whether the expression at ``path`` is assigned to or deleted, not evaluated."""
    return not isinstance(getattr(program.node(path), "ctx", ast.Load()), ast.Load)


def literal_of(description: object) -> str | None:
    """Source of a value that facts describe, when it is short and has one."""
    if not isinstance(description, dict):
        return None
    if description.get("k") == "const":
        text = str(description["r"])
        return text if len(text) <= 40 else None
    if description.get("k") == "seq" and description.get("t") in ("tuple", "list"):
        parts = [literal_of(item) for item in description.get("items", ())]
        if not parts or any(p is None for p in parts):
            return None
        inner = ", ".join(str(p) for p in parts)
        if description["t"] == "list":
            return f"[{inner}]"
        return f"({inner},)" if len(parts) == 1 else f"({inner})"
    return None


def fact_of(facts: Facts, path: Path, node: ast.expr) -> ExprFact | None:
    """What was seen of ``node`` at ``path``; a constant is its own fact."""
    if isinstance(node, ast.Constant):
        return ExprFact(1, True, {"k": "const", "r": repr(node.value)}, None, 0, None)
    return facts.of(path)


def like(a: ExprFact | None, b: ExprFact | None) -> bool:
    """Whether two facts describe values that can stand for each other: kind, and a tensor's shape and dtype."""
    if a is None or b is None or a.kind != b.kind:
        return False
    if a.kind == "tensor":
        return a.shape == b.shape and a.value.get("dtype") == b.value.get("dtype")
    if a.kind == "seq":
        return a.value.get("t") == b.value.get("t") and len(a.value.get("items", ())) == len(b.value.get("items", ()))
    if a.kind == "const":
        return _kind_of_constant(str(a.value["r"])) == _kind_of_constant(str(b.value["r"]))
    return True


def _kind_of_constant(text: str) -> str:
    try:
        return type(ast.literal_eval(text)).__name__
    except (ValueError, SyntaxError):
        return text.split("(")[0]

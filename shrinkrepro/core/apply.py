"""Application: a program and edits -> the text of a candidate.

Decision: only the spine above a change is copied; every other node is shared, and a shared statement is
printed by slicing the base's lines. So a candidate costs what its change costs, not what the program costs.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shrinkrepro.core.edits import Edit, Path
from shrinkrepro.core.program import Program, parse_expression, parse_statements


class Inapplicable(Exception):
    """The edits do not fit the program or each other; the candidate does not exist."""


@dataclass
class _Node:
    """One step of the tree of changes."""

    text: str | None = None
    changed: bool = False
    children: dict[str | int, _Node] = field(default_factory=dict)


def apply(program: Program, edits: Iterable[Edit]) -> str:
    """The text of ``program`` after ``edits``.

    A deletion swallows the changes below it; two other changes that overlap do not fit together.

    Raises:
        Inapplicable: they do not fit, or the result is no program.
    """
    tree, imports = rebuild(program, edits)
    return print_module(program, tree, imports)


def rebuild(program: Program, edits: Iterable[Edit]) -> tuple[ast.Module, tuple[str, ...]]:
    """The tree after ``edits``, sharing what they leave alone, and the imports that they ask for."""
    root = _Node()
    imports: dict[str, None] = {}
    for edit in edits:
        imports.update(dict.fromkeys(edit.imports))
        for change in edit.changes:
            _insert(root, change.path, change.text)
    tree = _rebuild(program.tree, root)
    if not isinstance(tree, ast.Module):
        raise Inapplicable("the module itself was changed")
    return tree, tuple(imports)


def _insert(root: _Node, path: Path, text: str | None) -> None:
    node = root
    for step in path:
        if node.changed:
            if node.text is None:
                return
            raise Inapplicable("changes overlap")
        node = node.children.setdefault(step, _Node())
    if node.changed and node.text != text:
        raise Inapplicable("two changes of one node")
    if node.children and text is not None:
        raise Inapplicable("changes overlap")
    node.children.clear()
    node.text, node.changed = text, True


def _rebuild(node: ast.AST, change: _Node) -> ast.AST:
    new = copy.copy(node)
    for name, below in change.children.items():
        if not isinstance(name, str) or not hasattr(node, name):
            raise Inapplicable(f"no field {name!r}")
        value = getattr(node, name)
        if isinstance(value, list):
            if below.changed:
                raise Inapplicable("a list as a whole")
            continue
        if below.changed:
            setattr(new, name, _single(node, name, value, below.text))
        elif isinstance(value, ast.AST):
            setattr(new, name, _rebuild(value, below))
        else:
            raise Inapplicable(f"nothing at {name!r}")
    lists = {k: v for k, v in change.children.items() if isinstance(k, str) and isinstance(getattr(node, k), list)}
    if isinstance(node, ast.arguments) and isinstance(new, ast.arguments):
        _arguments(node, new, lists)
    elif isinstance(node, ast.Dict) and isinstance(new, ast.Dict):
        _dict(node, new, lists)
    elif isinstance(node, ast.Compare) and isinstance(new, ast.Compare):
        _compare(node, new, lists)
    else:
        for name, below in lists.items():
            setattr(new, name, _list(getattr(node, name), below, name))
    return _tidy(node, new, change)


def _single(node: ast.AST, name: str, value: Any, text: str | None) -> Any:
    if text is None:
        if (type(node).__name__, name) in _OPTIONAL or name in ("annotation", "returns"):
            return None
        raise Inapplicable(f"{name} is required")
    if value is None or isinstance(value, str):
        if isinstance(value, str) or (type(node).__name__, name) in _IDENTIFIERS:
            if not all(part.isidentifier() for part in text.split(".")):
                raise Inapplicable(f"{text!r} is no name")
            return text
        return _parse_like(None, text)
    return _parse_like(value, text)


_OPTIONAL = {
    ("Return", "value"),
    ("AnnAssign", "value"),
    ("Slice", "lower"),
    ("Slice", "upper"),
    ("Slice", "step"),
    ("withitem", "optional_vars"),
    ("Yield", "value"),
    ("Raise", "exc"),
    ("Raise", "cause"),
    ("ExceptHandler", "type"),
    ("ExceptHandler", "name"),
    ("Assert", "msg"),
    ("arguments", "vararg"),
    ("arguments", "kwarg"),
    ("alias", "asname"),
    ("FormattedValue", "format_spec"),
    ("match_case", "guard"),
}
_IDENTIFIERS = {("alias", "asname"), ("ExceptHandler", "name"), ("keyword", "arg")}


def _parse_like(old: ast.AST | None, text: str) -> Any:
    """``text`` parsed as the category of ``old``."""
    try:
        if isinstance(old, ast.arg):
            return _one(_lambda_arguments(text).args)
        if isinstance(old, ast.arguments):
            return _lambda_arguments(text)
        if isinstance(old, ast.keyword):
            call = parse_expression(f"f({text})")
            return _one(call.keywords) if isinstance(call, ast.Call) else _one([])
        if isinstance(old, ast.alias):
            statement = _one(parse_statements(f"import {text}" if "." in text else f"from m import {text}"))
            return _one(statement.names)
        if isinstance(old, ast.withitem):
            return _one(_one(parse_statements(f"with {text}: pass")).items)
        if isinstance(old, ast.comprehension):
            listed = parse_expression(f"[_ {text}]")
            return _one(listed.generators) if isinstance(listed, ast.ListComp) else _one([])
        if isinstance(old, ast.Slice | ast.Starred) or (isinstance(old, ast.Tuple) and ":" in text):
            indexed = parse_expression(f"_[{text}]" if not isinstance(old, ast.Starred) else f"_({text})")
            if isinstance(indexed, ast.Subscript):
                return indexed.slice
            return _one(indexed.args) if isinstance(indexed, ast.Call) else _one([])
        if old is None or isinstance(old, ast.expr):
            new = parse_expression(text)
            context = getattr(old, "ctx", None)
            if context is not None and not isinstance(context, ast.Load):
                _set_context(new, context)
            return new
    except SyntaxError as error:
        raise Inapplicable(str(error)) from error
    raise Inapplicable(f"cannot replace a {type(old).__name__}")


def _lambda_arguments(text: str) -> ast.arguments:
    expression = parse_expression(f"lambda {text}: 0")
    if not isinstance(expression, ast.Lambda):
        raise Inapplicable(text)
    return expression.args


def _one(items: Sequence[Any]) -> Any:
    if len(items) != 1:
        raise Inapplicable("not exactly one")
    return items[0]


def _set_context(node: ast.expr, context: ast.expr_context) -> None:
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Starred | ast.Tuple | ast.List):
        raise Inapplicable("not a target")
    node.ctx = context
    if isinstance(node, ast.Starred):
        _set_context(node.value, context)
    elif isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            _set_context(element, context)


def _list(values: list[Any], change: _Node, name: str) -> list[Any]:
    result: list[Any] = []
    for i, value in enumerate(values):
        below = change.children.get(i)
        if below is None:
            result.append(value)
        elif not below.changed:
            if not isinstance(value, ast.AST):
                raise Inapplicable(f"nothing at {name}[{i}]")
            new = _rebuild(value, below)
            result.extend(new.body if isinstance(new, _Spliced) else [new])
        elif below.text is None:
            continue
        elif isinstance(value, ast.stmt):
            try:
                result.extend(parse_statements(below.text))
            except SyntaxError as error:
                raise Inapplicable(str(error)) from error
        elif isinstance(value, str):
            result.append(below.text)
        else:
            result.append(_parse_like(value, below.text))
    if any(isinstance(step, int) and step >= len(values) for step in change.children):
        raise Inapplicable(f"nothing there in {name}")
    return result


def _arguments(node: ast.arguments, new: ast.arguments, lists: dict[str, _Node]) -> None:
    """Parameters lose their defaults with them."""
    positional = [("posonlyargs", i) for i in range(len(node.posonlyargs))] + [
        ("args", i) for i in range(len(node.args))
    ]
    offset = len(positional) - len(node.defaults)
    defaults = lists.get("defaults", _Node())
    kept: list[ast.expr | None] = []
    for position, (name, i) in enumerate(positional):
        below = lists.get(name, _Node()).children.get(i)
        if below is not None and below.changed and below.text is None:
            continue
        index = position - offset
        if index < 0:
            kept.append(None)
        else:
            kept.extend(_list([node.defaults[index]], _Node(children=_at(defaults, index)), "defaults") or [None])
    given = [d for d in kept if d is not None]
    if given and any(d is None for d in kept[len(kept) - len(given) :]):
        raise Inapplicable("a parameter without a default after one with a default")
    kw_defaults: list[ast.expr | None] = []
    for i, default in enumerate(node.kw_defaults):
        below = lists.get("kwonlyargs", _Node()).children.get(i)
        if below is not None and below.changed and below.text is None:
            continue
        change = lists.get("kw_defaults", _Node()).children.get(i)
        if change is None or default is None:
            kw_defaults.append(default)
        else:
            kw_defaults.extend(_list([default], _Node(children={0: change}), "kw_defaults") or [None])
    for name in ("posonlyargs", "args", "kwonlyargs"):
        if name in lists:
            setattr(new, name, _list(getattr(node, name), lists[name], name))
    new.defaults, new.kw_defaults = given, kw_defaults


def _at(change: _Node, index: int) -> dict[str | int, _Node]:
    below = change.children.get(index)
    return {} if below is None else {0: below}


def _dict(node: ast.Dict, new: ast.Dict, lists: dict[str, _Node]) -> None:
    """An item goes whole, whichever of its halves was deleted."""
    gone = {i for part in lists.values() for i, c in part.children.items() if c.changed and c.text is None}
    keys, values = [], []
    for i, (key, value) in enumerate(zip(node.keys, node.values)):
        if i in gone:
            continue
        keys.extend(_list([key], _Node(children=_at(lists.get("keys", _Node()), i)), "keys"))
        values.extend(_list([value], _Node(children=_at(lists.get("values", _Node()), i)), "values"))
    new.keys, new.values = keys, values


def _compare(node: ast.Compare, new: ast.Compare, lists: dict[str, _Node]) -> None:
    ops, comparators = [], []
    for i, (op, comparator) in enumerate(zip(node.ops, node.comparators)):
        kept = _list([comparator], _Node(children=_at(lists.get("comparators", _Node()), i)), "comparators")
        if kept:
            ops.append(op)
            comparators.extend(kept)
    if not ops:
        raise Inapplicable("a comparison with nothing")
    new.ops, new.comparators = ops, comparators


class _Spliced(ast.Module):
    """Stands for a compound statement that dissolved into statements."""


def _tidy(old: ast.AST, new: ast.AST, change: _Node) -> ast.AST:
    """What an emptied list means for the node that holds it."""
    if isinstance(new, ast.Module | ast.Interactive | ast.Expression):
        return new
    if isinstance(new, ast.Try) and not new.handlers and not new.finalbody:
        return _Spliced([*new.body, *new.orelse], [])
    if isinstance(new, ast.Try) and not new.handlers:
        new.body, new.orelse = [*new.body, *new.orelse], []
    if isinstance(new, ast.With | ast.AsyncWith) and not new.items:
        return _Spliced(new.body or [], [])
    if isinstance(new, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal) and not new.names:
        return _Spliced([], [])
    if isinstance(new, ast.Delete | ast.Assign) and not new.targets:
        return _Spliced([] if isinstance(new, ast.Delete) else [ast.Expr(new.value)], [])
    if isinstance(new, ast.ExceptHandler) and new.type is None:
        new.name = None
    if isinstance(new, ast.Raise) and new.exc is None:
        new.cause = None
    if isinstance(new, ast.BoolOp):
        if not new.values:
            raise Inapplicable("an empty operator")
        return new.values[0] if len(new.values) == 1 else new
    for name in ("generators", "cases"):
        if hasattr(new, name) and not getattr(new, name):
            raise Inapplicable(f"no {name}")
    if hasattr(new, "body") and isinstance(new.body, list) and not new.body and not isinstance(new, _Spliced):
        new.body = [ast.Pass()]
    if isinstance(new, ast.Subscript) and isinstance(new.slice, ast.Tuple) and not new.slice.elts:
        raise Inapplicable("an empty index")
    return new


def print_module(program: Program, tree: ast.Module, imports: Sequence[str] = ()) -> str:
    """The text of ``tree``, whose shared statements are sliced from ``program``."""
    body = tree.body
    head: list[str] = []
    if imports:
        present = {ast.unparse(s) for s in body if isinstance(s, ast.Import | ast.ImportFrom)}
        head = [i for i in imports if i not in present]
    lines: list[str] = []
    futures = 0
    while futures < len(body) and isinstance(body[futures], ast.ImportFrom) and body[futures].module == "__future__":  # type: ignore[attr-defined]
        futures += 1
    try:
        _print_block(program, body[:futures], "", lines)
        lines.extend(head)
        _print_block(program, body[futures:], "", lines)
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        raise Inapplicable(str(error)) from error
    return "\n".join(lines)


_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While, ast.With)


def _print_block(program: Program, body: Sequence[ast.stmt], indent: str, out: list[str]) -> None:
    for statement in body:
        if id(statement) in program.statements and statement.end_lineno is not None:
            first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
            if program.lines[first - 1][: statement.col_offset].isspace() or statement.col_offset == 0:
                column = statement.col_offset
                sliced = [
                    indent + line[column:] if line[:column].isspace() or not column else line
                    for line in program.lines[first - 1 : statement.end_lineno]
                ]
                if sliced[0].startswith(indent + "elif "):
                    sliced[0] = indent + sliced[0][len(indent) + 2 :]
                out.extend(sliced)
                continue
        if isinstance(statement, _BLOCKS):
            header = copy.copy(statement)
            header.body = []
            if hasattr(header, "orelse"):
                header.orelse = []
            out.extend(indent + line for line in ast.unparse(_located(header)).strip("\n").split("\n"))
            _print_block(program, statement.body, indent + "    ", out)
            if getattr(statement, "orelse", None):
                out.append(indent + "else:")
                _print_block(program, statement.orelse, indent + "    ", out)  # type: ignore[union-attr]
        else:
            out.extend(indent + line for line in ast.unparse(_located(statement)).split("\n"))


def _located(node: ast.stmt) -> ast.stmt:
    if not hasattr(node, "lineno"):
        node.lineno = node.end_lineno = 1
        node.col_offset = node.end_col_offset = 0
    return node

"""What a script takes of test modules, as syntax trees: without pytest's marks, imports made absolute, names apart.

Decision: pure functions over trees; what asks pytest stands in ``script``.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable
from typing import Any


def in_decorator(call: ast.expr, name: str, index: int) -> str | None:
    """The expression that a decorator gives for ``name`` in its ``index``-th set of parameters."""
    if not isinstance(call, ast.Call):
        return None
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if "params" in keywords:
        return element(keywords["params"], index, None)
    if not ast.unparse(call.func).endswith("parametrize"):
        return None
    names, values = [one for one in (*call.args, keywords.get("argnames"), keywords.get("argvalues")) if one][:2]
    try:
        listed = ast.literal_eval(names)
    except ValueError:
        return None
    listed = [one.strip() for one in listed.split(",")] if isinstance(listed, str) else list(listed)
    if name not in listed:
        return None
    return element(values, index, listed.index(name) if len(listed) > 1 else None)


def element(values: ast.expr, index: int, position: int | None) -> str | None:
    """The expression of one parameter: as it is written in a list, else by its index."""
    if isinstance(values, (ast.List, ast.Tuple)) and not any(isinstance(one, ast.Starred) for one in values.elts):
        if index >= len(values.elts):
            return None
        element = values.elts[index]
        if isinstance(element, ast.Call) and ast.unparse(element.func).endswith("param"):
            return ast.unparse(element.args[position or 0])
        if position is None:
            return ast.unparse(element)
        if isinstance(element, (ast.List, ast.Tuple)):
            return ast.unparse(element.elts[position])
        return f"({ast.unparse(element)})[{position}]"
    text = f"list({ast.unparse(values)})[{index}]"
    return text if position is None else f"{text}[{position}]"


def decorators(owner: Any) -> list[ast.expr]:
    """The decorators of a function or class, as its source has them."""
    try:
        lines, _ = inspect.getsourcelines(inspect.unwrap(owner))
        indent = len(lines[0]) - len(lines[0].lstrip())
        tree = ast.parse("".join(line[indent:] if not line[:indent].strip() else line for line in lines))
    except (OSError, TypeError, SyntaxError):
        return []
    return list(getattr(tree.body[0], "decorator_list", ())) if tree.body else []


def is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def without_main(tree: ast.Module) -> ast.Module:
    """Without ``if __name__ == "__main__":``, which a script would run."""
    tree.body = [s for s in tree.body if not (isinstance(s, ast.If) and "__name__" in ast.unparse(s.test))]
    return tree


class _Marks(ast.NodeTransformer):
    """Takes pytest's decorators off functions and classes."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def _strip(self, node: Any) -> Any:
        self.generic_visit(node)
        node.decorator_list = [one for one in node.decorator_list if not self._is_mark(one)]
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _strip

    def _is_mark(self, node: ast.expr) -> bool:
        text = ast.unparse(node.func if isinstance(node, ast.Call) else node)
        return (
            text.partition(".")[0] in self.names and bool(re.search(r"(^|\.)(mark|fixture)\b", text))
        ) or text in self.names


def without_marks(tree: ast.Module) -> ast.Module:
    names = {"pytest"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name for alias in node.names if alias.name in ("pytest", "pytest_asyncio")}
        elif isinstance(node, ast.ImportFrom) and node.module == "pytest":
            names |= {alias.asname or alias.name for alias in node.names if alias.name in ("fixture", "mark")}
    tree.body = [
        s
        for s in tree.body
        if not (isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) in ("pytestmark", "pytest_plugins"))
    ]
    return _Marks(names).visit(tree)  # type: ignore[no-any-return]


def without_unused_pytest(tree: ast.Module) -> ast.Module:
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    body: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)) and "pytest" in ast.unparse(statement):
            statement.names = [one for one in statement.names if (one.asname or one.name).partition(".")[0] in used]
            if not statement.names:
                continue
        body.append(statement)
    tree.body = body
    return tree


def bound(statements: Iterable[ast.stmt]) -> set[str]:
    found = set()
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            found.add(statement.name)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            found |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return found


def rename(tree: ast.Module, name: str, new: str) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = new
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            node.name = new


def make_imports_absolute(tree: ast.Module, package: str) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1]
            node.module, node.level = ".".join([*base, *([node.module] if node.module else [])]), 0

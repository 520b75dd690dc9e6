"""The static filter: candidates that no interpreter needs to see.

Decision: only what is certain is refused: text that does not compile, a name that nothing binds anywhere, an
attribute path into a library module that the program does not import (a warm server has such modules loaded, a
fresh interpreter has not).
"""

from __future__ import annotations

import ast
import warnings

from shrinkrepro.core.scopes import BUILTINS


def refusal(text: str, warm_modules: frozenset[str] = frozenset(), base_modules: frozenset[str] = frozenset()) -> str:
    """Why ``text`` needs no query, in one line; empty when it needs one.

    ``warm_modules`` are loaded in the server, ``base_modules`` are those that ``import torch`` alone loads.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(tree, "<candidate>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"does not compile: {error}"
    bound: set[str] = set()
    loaded: dict[str, ast.Name] = {}
    imported: dict[str, str] = {}
    modules: set[str] = set()
    attributes: list[ast.Attribute] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                loaded.setdefault(node.id, node)
            else:
                bound.add(node.id)
        elif isinstance(node, ast.Attribute):
            attributes.append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                _prefixes(alias.name, modules)
                name = alias.asname or alias.name.split(".")[0]
                bound.add(name)
                imported[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            if node.module and not node.level:
                _prefixes(node.module, modules)
            for alias in node.names:
                if alias.name == "*":
                    return ""
                name = alias.asname or alias.name
                bound.add(name)
                if node.module and not node.level:
                    full = f"{node.module}.{alias.name}"
                    imported[name] = full
                    if full in warm_modules:
                        modules.add(full)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            if node.name:
                bound.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.add(node.rest)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            bound.update(node.names)
    for name in loaded:
        if name not in bound and name not in BUILTINS:
            return f"nothing binds {name!r}"
    for attribute in attributes:
        module = _module_path(attribute, imported)
        if module in warm_modules and module not in base_modules and module not in modules:
            return f"nothing imports {module!r}"
    return ""


def _prefixes(module: str, into: set[str]) -> None:
    parts = module.split(".")
    into.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))


def _module_path(node: ast.Attribute, imported: dict[str, str]) -> str | None:
    names = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        names.append(value.attr)
        value = value.value
    if not isinstance(value, ast.Name) or value.id not in imported:
        return None
    return ".".join([imported[value.id], *reversed(names)])

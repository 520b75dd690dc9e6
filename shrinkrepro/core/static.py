"""The static filter: candidates that no interpreter needs to see.

Decision: only what is certain is refused: text that does not compile, a name that nothing binds anywhere, an
attribute path into a library module that the program does not import (a warm server has such modules loaded, a
fresh interpreter has not).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

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
    names = _Names(tree, warm_modules)
    if names.star:
        return ""
    for name in names.loaded:
        if name not in names.bound and name not in BUILTINS:
            return f"nothing binds {name!r}"
    for module in names.unimported(warm_modules - base_modules):
        return f"nothing imports {module!r}"
    return ""


def unimported(text: str, warm_modules: frozenset[str], base_modules: frozenset[str]) -> frozenset[str]:
    """Modules that ``text`` reaches by attribute without importing them.

    Of a program that runs in a fresh interpreter, these are loaded by what it imports (``numpy.random`` by numpy, at
    its first use), so its results may reach them in the same way.
    """
    tree = ast.parse(text)
    return frozenset(_Names(tree, warm_modules).unimported(warm_modules - base_modules))


class _Names:
    """What a program binds, reads and imports."""

    def __init__(self, tree: ast.Module, warm_modules: frozenset[str]) -> None:
        self.bound: set[str] = set()
        self.loaded: dict[str, ast.Name] = {}
        self.star = False
        self._imported: dict[str, str] = {}
        self._modules: set[str] = set()
        self._attributes: list[ast.Attribute] = []
        for node in ast.walk(tree):
            self._read(node, warm_modules)

    def unimported(self, of: frozenset[str]) -> Iterator[str]:
        """The modules among ``of`` that an attribute path names and no import does."""
        for attribute in self._attributes:
            module = _module_path(attribute, self._imported)
            if module in of and module not in self._modules:
                yield module

    def _read(self, node: ast.AST, warm_modules: frozenset[str]) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self.loaded.setdefault(node.id, node)
            else:
                self.bound.add(node.id)
        elif isinstance(node, ast.Attribute):
            self._attributes.append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.bound.add(node.name)
        elif isinstance(node, ast.arg):
            self.bound.add(node.arg)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                _prefixes(alias.name, self._modules)
                name = alias.asname or alias.name.split(".")[0]
                self.bound.add(name)
                self._imported[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            if node.module and not node.level:
                _prefixes(node.module, self._modules)
            for alias in node.names:
                self.star = self.star or alias.name == "*"
                name = alias.asname or alias.name
                self.bound.add(name)
                if node.module and not node.level:
                    full = f"{node.module}.{alias.name}"
                    self._imported[name] = full
                    if full in warm_modules:
                        self._modules.add(full)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            if node.name:
                self.bound.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self.bound.add(node.rest)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            self.bound.update(node.names)


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

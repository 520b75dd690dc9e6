"""Scopes: which binding a name means, by Python's rules.

Decision: a binding is (path of its scope's node, name); comprehensions and lambdas have scopes of their own,
class bodies are skipped by the functions inside them, ``global`` and ``nonlocal`` are followed. Attributes are
no names and are not resolved here.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from typing import NamedTuple

from shrinkrepro.core.edits import Path
from shrinkrepro.core.program import Program, bound_by_import

BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__builtins__", "__spec__", "__package__"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Binding(NamedTuple):
    """One name in one scope. ``scope`` is the path of the module, function, class, lambda or comprehension."""

    scope: Path
    name: str


@dataclass
class _Scope:
    path: Path
    node: ast.AST
    parent: _Scope | None
    bound: set[str] = field(default_factory=set)
    outer: dict[str, str] = field(default_factory=dict)  # name -> "global" | "nonlocal"


class Scopes:
    """The bindings of one program, with the paths that define and use them, in source order.

    A definition's path is that of the binding node: a ``Name`` in store context, an ``arg``, a def or class
    statement, an ``alias``, an ``ExceptHandler``. A use's path is that of a ``Name`` in load or del context.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.definitions: dict[Binding, list[Path]] = {}
        self.uses: dict[Binding, list[Path]] = {}
        self.unbound: list[Path] = []
        self._binding_of: dict[Path, Binding] = {}
        self._names: list[tuple[Path, str, _Scope, bool]] = []
        self._scopes: dict[Path, _Scope] = {}
        self._module = self._open((), program.tree, None)
        self._block(program.tree, (), self._module)
        self._resolve()

    def binding(self, path: Path) -> Binding | None:
        """The binding that the name (or definition) at ``path`` means; None for builtins and unbound names."""
        return self._binding_of.get(path)

    def uses_of(self, path: Path) -> list[Path]:
        """Uses of what the definition at ``path`` binds."""
        binding = self._binding_of.get(path)
        return self.uses.get(binding, []) if binding is not None else []

    def names_in(self, scope: Path) -> set[str]:
        """Names bound directly in the scope at ``scope``."""
        found = self._scopes.get(scope)
        return set(found.bound) if found is not None else set()

    def all_names(self) -> set[str]:
        """Every identifier bound or used anywhere in the program."""
        return {name for _, name, _, _ in self._names} | {b.name for b in self.definitions}

    def lookup(self, at: Path, name: str) -> Binding | None:
        """What ``name`` would mean if it were written at the node ``at``."""
        path, scope = at, self._scopes.get(at)
        while scope is None and path:
            path, _ = self._program.parent(path)
            scope = self._scopes.get(path)
        return self._find(name, scope or self._module)

    def _open(self, path: Path, node: ast.AST, parent: _Scope | None) -> _Scope:
        scope = _Scope(path, node, parent)
        self._scopes[path] = scope
        return scope

    def _bind(self, path: Path, name: str, scope: _Scope) -> None:
        scope.bound.add(name)
        self._names.append((path, name, scope, True))

    def _block(self, node: ast.AST, path: Path, scope: _Scope) -> None:
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                self._visit(value, (*path, name), scope)
            elif isinstance(value, list):
                for i, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        self._visit(item, (*path, name, i), scope)

    def _visit(self, node: ast.AST, path: Path, scope: _Scope) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                self._bind(path, node.id, scope)
            else:
                self._names.append((path, node.id, scope, False))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._bind(path, node.name, scope)
            self._function(node, path, scope)
        elif isinstance(node, ast.Lambda):
            self._function(node, path, scope)
        elif isinstance(node, ast.ClassDef):
            self._class(node, path, scope)
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node, path, scope)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            kind = "global" if isinstance(node, ast.Global) else "nonlocal"
            scope.outer.update(dict.fromkeys(node.names, kind))
        elif isinstance(node, ast.alias):
            if node.name != "*":
                self._bind(path, bound_by_import(node), scope)
        elif isinstance(node, ast.NamedExpr):
            target = scope
            while isinstance(target.node, _COMPREHENSIONS) and target.parent is not None:
                target = target.parent
            self._visit(node.target, (*path, "target"), target)
            self._visit(node.value, (*path, "value"), scope)
        else:
            name = getattr(node, "name", None)
            if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and isinstance(name, str):
                self._bind(path, name, scope)
            if isinstance(node, ast.MatchMapping) and node.rest is not None:
                self._bind(path, node.rest, scope)
            self._block(node, path, scope)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, path: Path, scope: _Scope) -> None:
        inner = self._open(path, node, scope)
        for name in ("decorator_list", "type_params"):
            for i, item in enumerate(getattr(node, name, ())):
                self._visit(item, (*path, name, i), scope)
        arguments = node.args
        for name in ("posonlyargs", "args", "kwonlyargs"):
            for i, arg in enumerate(getattr(arguments, name)):
                self._argument(arg, (*path, "args", name, i), inner, scope)
        for name in ("vararg", "kwarg"):
            arg = getattr(arguments, name)
            if arg is not None:
                self._argument(arg, (*path, "args", name), inner, scope)
        for name in ("defaults", "kw_defaults"):
            for i, default in enumerate(getattr(arguments, name)):
                if default is not None:
                    self._visit(default, (*path, "args", name, i), scope)
        if isinstance(node, ast.Lambda):
            self._visit(node.body, (*path, "body"), inner)
            return
        if node.returns is not None:
            self._visit(node.returns, (*path, "returns"), scope)
        for i, statement in enumerate(node.body):
            self._visit(statement, (*path, "body", i), inner)

    def _argument(self, arg: ast.arg, path: Path, inner: _Scope, outer: _Scope) -> None:
        self._bind(path, arg.arg, inner)
        if arg.annotation is not None:
            self._visit(arg.annotation, (*path, "annotation"), outer)

    def _class(self, node: ast.ClassDef, path: Path, scope: _Scope) -> None:
        self._bind(path, node.name, scope)
        for name in ("decorator_list", "bases", "keywords", "type_params"):
            for i, item in enumerate(getattr(node, name, ())):
                self._visit(item, (*path, name, i), scope)
        inner = self._open(path, node, scope)
        for i, statement in enumerate(node.body):
            self._visit(statement, (*path, "body", i), inner)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, path: Path, scope: _Scope
    ) -> None:
        inner = self._open(path, node, scope)
        for i, generator in enumerate(node.generators):
            at = (*path, "generators", i)
            self._visit(generator.iter, (*at, "iter"), scope if i == 0 else inner)
            self._visit(generator.target, (*at, "target"), inner)
            for k, condition in enumerate(generator.ifs):
                self._visit(condition, (*at, "ifs", k), inner)
        for name in ("elt", "key", "value"):
            part = getattr(node, name, None)
            if part is not None:
                self._visit(part, (*path, name), inner)

    def _find(self, name: str, scope: _Scope) -> Binding | None:
        declared = scope.outer.get(name)
        if declared == "global":
            return Binding((), name) if name in self._module.bound else None
        if declared is None and name in scope.bound:
            return Binding(scope.path, name)
        up = scope.parent
        while up is not None:
            if name in up.outer:
                return self._find(name, up)
            if name in up.bound and not isinstance(up.node, ast.ClassDef):
                return Binding(up.path, name)
            up = up.parent
        return None

    def _resolve(self) -> None:
        for _, name, scope, defines in self._names:
            if defines and scope.outer.get(name) == "global":
                self._module.bound.add(name)
        for path, name, scope, defines in self._names:
            binding = self._find(name, scope)
            if binding is None:
                if not defines and name not in BUILTINS:
                    self.unbound.append(path)
                continue
            self._binding_of[path] = binding
            (self.definitions if defines else self.uses).setdefault(binding, []).append(path)

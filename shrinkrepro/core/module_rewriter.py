"""Rewrites one module's statements for the file that all modules are folded into.

Decision: names are replaced by what they mean (``ImportGraph``), never by how they are spelled; an import of a
local module leaves nothing behind unless its name is rebound somewhere.
"""

from __future__ import annotations

import ast
from typing import Protocol

from shrinkrepro.core.folded_names import FoldedNames
from shrinkrepro.core.import_graph import (
    MAIN,
    External,
    ImportGraph,
    ImportNode,
    LocalModule,
    Missing,
    ModuleValue,
    Symbol,
)
from shrinkrepro.core.module_objects import symbol_of
from shrinkrepro.core.module_scopes import Binding, FunctionNode, Scope

_READERS = frozenset({"getattr", "hasattr", "vars", "dir"})


class Folding(Protocol):
    """What a rewriter asks of the fold that it works for."""

    graph: ImportGraph
    names: FoldedNames
    lazy: frozenset[str]  # modules that run by a call
    used: set[str]  # modules that the folded file itself must import

    def inline(self, name: str) -> list[ast.stmt]:
        """The statements of the module, the first time that it is asked for."""

    def need_object(self, name: str, kind: str) -> None:
        """Have the folded file make an object for the module: "read" or "live"."""


class ModuleRewriter(ast.NodeTransformer):
    """Rewrites the statements of one module for the folded file."""

    def __init__(self, fold: Folding, module: LocalModule, stringify: bool) -> None:
        self.fold = fold
        self.graph = fold.graph
        self.module = module
        self.stringify = stringify
        self._scopes: list[Scope] = [module.top]
        self._original = {n: n.name for n in ast.walk(module.tree) if isinstance(n, ast.ClassDef)}
        self._globals: list[set[str]] = []  # names to declare in the definition at work

    @property
    def scope(self) -> Scope:
        return self._scopes[-1]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        result = self.visit(node)
        if isinstance(result, ast.stmt):
            return [result]
        return result if isinstance(result, list) else []

    def generic_visit(self, node: ast.AST) -> ast.AST:
        had = {f for f in ("body", "finalbody") if isinstance(getattr(node, f, None), list) and getattr(node, f)}
        node = super().generic_visit(node)
        for name in had:
            if not getattr(node, name):
                setattr(node, name, [ast.Pass()])
        return node

    # Names

    def _final(self, symbol: Symbol, spelled: str) -> str:
        return self.fold.names.of(symbol, self.scope, spelled)

    def _value(self, meaning: Symbol | ModuleValue, spelled: str, live: bool = True) -> ast.expr:
        if isinstance(meaning, ModuleValue):
            self.fold.need_object(meaning.module, "live" if live else "read")
            return ast.Name(self._final(symbol_of(meaning.module), spelled), ast.Load())
        return ast.Name(self._final(meaning, spelled), ast.Load())

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt] | None:
        if not isinstance(node, ast.Name):
            for occurrence in self.module.named.get(node, ()):
                if occurrence.scope is self.module.top and occurrence.name in self.module.top.bound:
                    meaning = self.graph.meaning(self.module, self.module.top, occurrence.name)
                    if isinstance(meaning, Symbol):
                        final = self._final(meaning, occurrence.name)
                        if isinstance(node, ast.Global):
                            node.names = [final if n == occurrence.name else n for n in node.names]
                        else:
                            setattr(node, occurrence.field, final)
        result: ast.AST | list[ast.stmt] | None = super().visit(node)
        return result

    def visit_Name(self, node: ast.Name) -> ast.expr:
        for occurrence in self.module.named.get(node, ()):
            scope = occurrence.scope
            if occurrence.free:
                return self._special(node)
            meaning = self.graph.meaning(self.module, scope, node.id)
            if isinstance(meaning, Symbol) and meaning.name.startswith("."):
                return node
            value = self._value(meaning, node.id, self._is_live(node))
            if isinstance(value, ast.Name):
                value.ctx = node.ctx
            return value
        return node

    def _is_live(self, node: ast.expr) -> bool:
        """Whether more may happen to the module object ``node`` than a look at its attributes."""
        parent = self.module.parent.get(node)
        if isinstance(parent, ast.Attribute):
            return not isinstance(parent.ctx, ast.Load)
        called = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in _READERS
        return not (called and isinstance(parent, ast.Call) and parent.args[0] is node)

    def _special(self, node: ast.Name) -> ast.expr:
        module = self.module
        if module.name == MAIN or not isinstance(node.ctx, ast.Load):
            return node
        if node.id == "__file__":
            self.fold.used.add("os")
            os = self._final(Symbol("", "os=os"), "")
            parts = module.name.split(".")
            parts += ["__init__"] if module.name in self.graph.packages else []
            path = "".join(f", {part!r}" for part in parts[:-1]) + f", {parts[-1] + '.py'!r}"
            return ast.parse(f"{os}.path.join({os}.path.dirname({os}.path.abspath(__file__)){path})", mode="eval").body
        known: dict[str, str | None] = {
            "__name__": module.name,
            "__package__": module.package,
            "__doc__": module.docstring,
        }
        return ast.Constant(known[node.id]) if node.id in known else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        owner = self.graph.module_of(self.module, node.value)
        if owner is None:
            return self._descend(node)
        meaning = self.graph.attribute(owner, node.attr)
        if isinstance(meaning, ModuleValue):
            return self._value(meaning, "", self._is_live(node))
        if isinstance(meaning, Symbol):
            name = self._final(meaning, "")
            if not isinstance(node.ctx, ast.Load) and self._globals:
                self._globals[-1].add(name)
            return ast.Name(name, node.ctx)
        there = self.graph.modules[owner]
        if node.attr in ("__name__", "__doc__"):
            return ast.Constant(there.name if node.attr == "__name__" else there.docstring)
        if isinstance(node.ctx, ast.Load) and self.graph.stars(owner) and not node.attr.startswith("__"):
            self.fold.names.reserve(node.attr)
            return ast.Name(node.attr, ast.Load())
        if isinstance(node.ctx, ast.Load) and "__getattr__" in there.top.bound:
            return self._lazy(owner, node.attr)
        return self._descend(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """A bare name would be a capture, so the value stays an attribute: of the module's object."""
        if isinstance(node.value, ast.Attribute):
            owner = self.graph.module_of(self.module, node.value.value)
            if owner is not None:
                node.value.value = self._value(ModuleValue(owner), "")
                return node
        return self.generic_visit(node)

    def _descend(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return node

    def _lazy(self, owner: str, name: str) -> ast.expr:
        function = ast.Name(self._final(Symbol(owner, "__getattr__"), ""), ast.Load())
        return ast.Call(function, [ast.Constant(name)], [])

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if self.module.name != MAIN and ast.unparse(node) == "sys.modules[__name__]":
            return self._value(ModuleValue(self.module.name), "")
        self.generic_visit(node)
        return node

    # Scopes

    def _definition(self, node: FunctionNode | ast.ClassDef) -> ast.stmt | list[ast.stmt]:
        scope = self.module.scopes.scope_of[node]
        outer = [f for f in node._fields if f not in ("body", "args")]
        for name in outer:
            self._visit_field(node, name)
        if isinstance(node, FunctionNode):
            self._visit_arguments(node.args)
            node.returns = self._annotation(node.returns)
        self._scopes.append(scope)
        self._globals.append(set())
        self._visit_field(node, "body")
        self._scopes.pop()
        declared = sorted(self._globals.pop())
        if declared:
            node.body.insert(1 if ast.get_docstring(node) is not None else 0, ast.Global(declared))
        node.body = node.body or [ast.Pass()]
        original = self._original.get(node) if isinstance(node, ast.ClassDef) else None
        if isinstance(node, ast.ClassDef) and original not in (None, node.name) and self.graph.names_are_read:
            target = ast.Attribute(ast.Name(node.name, ast.Load()), "__name__", ast.Store())
            return [node, ast.Assign([target], ast.Constant(original))]
        return node

    def _visit_field(self, node: ast.AST, name: str) -> None:
        value = getattr(node, name, None)
        if isinstance(value, list):
            result: list[ast.AST] = []
            for item in value:
                new = self.visit(item) if isinstance(item, ast.AST) else [item]
                result += new if isinstance(new, list) else [] if new is None else [new]
            setattr(node, name, result)
        elif isinstance(value, ast.AST):
            setattr(node, name, self.visit(value))

    def _visit_arguments(self, node: ast.arguments) -> None:
        self._visit_field(node, "defaults")
        self._visit_field(node, "kw_defaults")
        for argument in ast.walk(node):
            if isinstance(argument, ast.arg) and argument.annotation is not None:
                argument.annotation = self._annotation(self.visit(argument.annotation))  # type: ignore[arg-type]

    def _annotation(self, node: ast.expr | None) -> ast.expr | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return ast.Constant(self._renamed(node.value))
        if self.stringify and node is not None:
            return ast.Constant(ast.unparse(node))
        return node

    def _renamed(self, annotation: str) -> str:
        try:
            tree = ast.parse(annotation, mode="eval")
        except SyntaxError:
            return annotation
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in self.module.top.bound:
                meaning = self.graph.meaning(self.module, self.module.top, node.id)
                if isinstance(meaning, Symbol):
                    node.id = self._final(meaning, node.id)
        return ast.unparse(tree)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt | list[ast.stmt]:
        return self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt | list[ast.stmt]:
        return self._definition(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt | list[ast.stmt]:
        return self._definition(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        node.annotation = self._annotation(node.annotation) or node.annotation
        return node

    def _inner(self, node: ast.AST) -> ast.AST:
        self._scopes.append(self.module.scopes.scope_of[node])
        self.generic_visit(node)
        self._scopes.pop()
        return node

    visit_Lambda = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _inner

    # Imports

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return self._import(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        return [] if node.module == "__future__" else self._import(node)

    def _import(self, node: ImportNode) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for name in self.graph.required(self.module, node):
            if self.scope is self.module.top or (self.scope.kind == "function" and name in self.fold.lazy):
                result += self.fold.inline(name)
        kept: list[ast.alias] = []
        for alias in node.names:
            if alias.name == "*":
                base = self.module.base(node) if isinstance(node, ast.ImportFrom) else None
                if base not in self.graph.modules or base is None:
                    kept.append(alias)
                else:
                    for name in self.graph.exports(base):
                        result += self._bind(node, ast.alias(name), name)
                continue
            bound = alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0])
            target = self.graph.target(self.module, Binding(node, node, alias))
            if isinstance(target, Symbol | ModuleValue | Missing):
                result += self._bind(node, alias, bound)
            elif (
                isinstance(target, External)
                and isinstance(node, ast.ImportFrom)
                and self.graph.base_is_local(self.module, node)
            ):
                origin = target.target.rpartition(".")[0]
                result.append(ast.ImportFrom(origin, [self._kept(node, alias, bound)], 0))
            else:
                kept.append(self._kept(node, alias, bound))
        if kept:
            node.names = kept
            result.append(node)
        return result

    def _kept(self, node: ImportNode, alias: ast.alias, bound: str) -> ast.alias:
        final = self._bound_as(bound)
        if final != bound or alias.asname:
            whole = isinstance(node, ast.ImportFrom) or alias.asname or "." not in alias.name
            return ast.alias(alias.name if whole else bound, None if final == alias.name else final)
        return alias

    def _bound_as(self, bound: str) -> str:
        """The name in the folded file of what the import binds here as ``bound``."""
        scope = self.scope.module if bound in self.scope.global_names else self.scope
        if scope is not self.module.top:
            return bound
        meaning = self.graph.meaning(self.module, scope, bound)
        return self._final(meaning, bound) if isinstance(meaning, Symbol) else bound

    def _bind(self, node: ImportNode, alias: ast.alias, bound: str) -> list[ast.stmt]:
        """The assignment that stands for an import of something folded; none where the name is replaced everywhere."""
        scope = self.scope.module if bound in self.scope.global_names else self.scope
        meaning = self.graph.meaning(self.module, scope, bound)
        own = isinstance(meaning, Symbol) and (
            meaning.name == f".{bound}" or (meaning == Symbol(self.module.name, bound) and scope is self.module.top)
        )
        target = self.graph.target(self.module, Binding(node, node, alias))
        if isinstance(target, Missing):
            if "__getattr__" not in self.graph.modules[target.module].top.bound:
                message = f"cannot import name {target.name!r} from {target.module!r}"
                return [ast.parse(f"raise ImportError({message!r})").body[0]]
            value = self._lazy(target.module, target.name)
        elif not own:
            return []
        elif isinstance(target, Symbol):
            there = self.graph.modules[target.module]
            value = self._value(self.graph.meaning(there, there.top, target.name), "")
        else:
            assert isinstance(target, ModuleValue)
            value = self._value(target, "")
        return [ast.Assign([ast.Name(self._bound_as(bound), ast.Store())], value)]

"""The scopes of one module: where each identifier is bound, and which binding each occurrence means.

Decision: one pass over the tree in evaluation order records scopes, bindings and occurrences; what an
occurrence means is looked up afterwards, when all bindings are known. A read in a class body means the
class's own name only once that name has been bound there, as Python does it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class Binding:
    """One place that binds a name. ``statement`` is the import statement when an import binds it."""

    node: ast.AST
    statement: ast.Import | ast.ImportFrom | None = None
    alias: ast.alias | None = None
    inside: Scope | None = None  # the scope in which the binding code stands


@dataclass(eq=False)
class Scope:
    """``kind`` is "module", "function", "class" or "comprehension" (type parameters make a "function")."""

    kind: str
    parent: Scope | None
    node: ast.AST
    bound: dict[str, list[Binding]] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)

    @property
    def module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def chain(self) -> Iterator[Scope]:
        """The scopes that a lookup from here goes through, innermost first; classes only when they come first."""
        scope: Scope | None = self
        while scope is not None:
            if scope is self or scope.kind != "class":
                yield scope
            scope = scope.parent

    def lookup(self, name: str) -> Scope:
        """The scope whose ``name`` a read from here means; the module when nothing binds it."""
        for scope in self.chain():
            if name in scope.global_names:
                return self.module
            if name in scope.bound and name not in scope.nonlocal_names:
                return scope
        return self.module

    def hidden(self) -> frozenset[str]:
        """Names that would not mean the module's own if they were read here."""
        names: set[str] = set()
        for scope in self.chain():
            if scope.kind != "module":
                names.update(n for n in scope.bound if n not in scope.global_names)
        return frozenset(names)


@dataclass(eq=False)
class Occurrence:
    """An identifier in the tree: ``getattr(node, field)`` is ``name`` (or a list that holds it)."""

    node: ast.AST
    field: str
    name: str
    start: Scope  # where the lookup starts
    inside: Scope  # where it stands: the class whose body reads a name that it has not bound yet
    builtin: bool = False  # read at the top level before the module binds it, as in ``open = open``

    @property
    def scope(self) -> Scope:
        return self.start.lookup(self.name)

    @property
    def free(self) -> bool:
        """Whether it means nothing that the module binds."""
        scope = self.scope
        return scope.kind == "module" and (self.builtin or self.name not in scope.bound)


class ModuleScopes(ast.NodeVisitor):
    """Scopes and occurrences of ``tree``; ``scope_of`` maps definitions and comprehensions to the scope they open."""

    def __init__(self, tree: ast.Module) -> None:
        self.top = Scope("module", None, tree)
        self.occurrences: list[Occurrence] = []
        self.scope_of: dict[ast.AST, Scope] = {tree: self.top}
        self.imports: list[tuple[ast.Import | ast.ImportFrom, Scope]] = []
        self.inside: dict[ast.Attribute, Scope] = {}  # the scope in which an attribute expression stands
        self._scope = self.top
        self._class: list[str] = []
        self._functions = 0  # how many the visitor is inside of
        for statement in tree.body:
            self.visit(statement)

    # Recording

    def _mangled(self, name: str) -> bool:
        return bool(self._class) and name.startswith("__") and not name.endswith("__")

    def _bind(self, name: str, binding: Binding, scope: Scope | None = None) -> None:
        scope = scope or self._scope
        binding.inside = self._scope
        if name in scope.global_names:
            scope = scope.module
        elif name in scope.nonlocal_names:
            outer = scope.parent
            while outer is not None and (outer.kind == "class" or name not in outer.bound):
                outer = outer.parent
            scope = outer or scope
        scope.bound.setdefault(name, []).append(binding)

    def _occur(self, node: ast.AST, field_name: str, name: str, start: Scope | None = None) -> None:
        if not self._mangled(name):
            start = start or self._scope
            early = self._functions == 0 and name not in self.top.bound and hasattr(builtins, name)
            self.occurrences.append(Occurrence(node, field_name, name, start, self._scope, early))

    def _named(self, node: ast.AST, field_name: str, name: str | None) -> None:
        if name is not None:
            self._bind(name, Binding(node))
            self._occur(node, field_name, name)

    def _all(self, nodes: list[ast.expr] | list[ast.stmt] | list[ast.keyword]) -> None:
        for node in nodes:
            self.visit(node)

    def _enter(self, kind: str, node: ast.AST) -> Scope:
        scope = Scope(kind, self._scope, node)
        self.scope_of.setdefault(node, scope)
        self._scope = scope
        return scope

    # Names

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            start = self._scope
            if start.kind == "class" and node.id not in start.bound and start.parent is not None:
                start = next(s for s in start.parent.chain() if s.kind != "class")
            self._occur(node, "id", node.id, start)
        else:
            self._bind(node.id, Binding(node))
            self._occur(node, "id", node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = self._scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        self._bind(node.target.id, Binding(node.target), scope)
        self._occur(node.target, "id", node.target.id, scope)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.inside[node] = self._scope
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.global_names.update(node.names)
        for name in node.names:
            self._occur(node, "names", name, self.top)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._scope.nonlocal_names.update(node.names)
        for name in node.names:
            self._occur(node, "names", name)

    def visit_Import(self, node: ast.Import) -> None:
        self.imports.append((node, self._scope))
        for alias in node.names:
            self._bind(alias.asname or alias.name.partition(".")[0], Binding(node, node, alias))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.imports.append((node, self._scope))
        for alias in node.names:
            if alias.name != "*":
                self._bind(alias.asname or alias.name, Binding(node, node, alias))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        self._named(node, "name", node.name)
        self._all(node.body)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self.generic_visit(node)
        self._named(node, "name", node.name)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self._named(node, "name", node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        self._named(node, "rest", node.rest)

    # Statements whose value comes before their target

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        self._all(node.targets)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        self.visit(node.annotation)
        self.visit(node.target)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        self._all(node.body)
        self._all(node.orelse)

    visit_AsyncFor = visit_For

    # Scopes

    def _type_parameters(self, node: ast.AST) -> bool:
        parameters: list[ast.AST] = getattr(node, "type_params", [])
        if parameters:
            self._scope = Scope("function", self._scope, node)
            for parameter in parameters:
                self._bind(str(getattr(parameter, "name", "")), Binding(parameter))
                for extra in ("bound", "default_value"):
                    value = getattr(parameter, extra, None)
                    if value is not None:
                        self.visit(value)
        return bool(parameters)

    def _arguments(self, arguments: ast.arguments) -> list[ast.arg]:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return every + [a for a in (arguments.vararg, arguments.kwarg) if a is not None]

    def _defaults(self, arguments: ast.arguments) -> None:
        for default in [*arguments.defaults, *arguments.kw_defaults]:
            if default is not None:
                self.visit(default)

    def _function(self, node: FunctionNode) -> None:
        outer = self._scope
        self._all(node.decorator_list)
        self._defaults(node.args)
        self._named(node, "name", node.name)
        self._type_parameters(node)
        for argument in self._arguments(node.args):
            if argument.annotation is not None:
                self.visit(argument.annotation)
        if node.returns is not None:
            self.visit(node.returns)
        self._enter("function", node)
        for argument in self._arguments(node.args):
            self._named(argument, "arg", argument.arg)
        self._functions += 1
        self._all(node.body)
        self._functions -= 1
        self._scope = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        outer = self._scope
        self._defaults(node.args)
        self._enter("function", node)
        for argument in self._arguments(node.args):
            self._named(argument, "arg", argument.arg)
        self._functions += 1
        self.visit(node.body)
        self._functions -= 1
        self._scope = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer = self._scope
        self._all(node.decorator_list)
        self._type_parameters(node)
        self._all(node.bases)
        self._all(node.keywords)
        self._enter("class", node)
        self._class.append(node.name)
        self._all(node.body)
        self._class.pop()
        self._scope = outer
        self._named(node, "name", node.name)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        outer = self._scope
        self.visit(node.generators[0].iter)
        self._enter("comprehension", node)
        for index, generator in enumerate(node.generators):
            if index:
                self.visit(generator.iter)
            self.visit(generator.target)
            self._all(generator.ifs)
        if isinstance(node, ast.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self._scope = outer

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node)

    def visit_TypeAlias(self, node: ast.AST) -> None:
        outer = self._scope
        self.visit(node.name)  # type: ignore[attr-defined]
        self._type_parameters(node)
        self.visit(node.value)  # type: ignore[attr-defined]
        self._scope = outer

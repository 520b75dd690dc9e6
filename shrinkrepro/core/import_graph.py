"""What the names and imports of a set of local modules mean: which module, or which module's variable.

Decision: a name that is bound by imports only, all of one and the same thing, *is* that thing; anything else
is a variable of its own. So `from m import f` needs no code in the folded file unless somebody rebinds `f`.
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shrinkrepro.core.module_scopes import Binding, ModuleScopes, Occurrence, Scope

ImportNode = ast.Import | ast.ImportFrom
MAIN = "__main__"


@dataclass(frozen=True)
class Symbol:
    """A variable of ``module``; shared by all modules when that is empty (``name`` is then ``name=target``)."""

    module: str
    name: str

    @property
    def base(self) -> str:
        return self.name.partition("=")[0]


@dataclass(frozen=True)
class ModuleValue:
    """The module object of a local module."""

    module: str


@dataclass(frozen=True)
class External:
    """Something imported from outside: a dotted target."""

    target: str


@dataclass(frozen=True)
class Missing:
    """A name that the local module ``module`` does not have."""

    module: str
    name: str


Meaning = Symbol | ModuleValue
Target = Symbol | ModuleValue | External | Missing | None


class LocalModule:
    """One parsed module with its scopes; code that never runs in an import is left out."""

    def __init__(self, name: str, source: str, package: str) -> None:
        self.name = name
        self.package = package
        self.tree = ast.parse(source)
        self.docstring = ast.get_docstring(self.tree, clean=False)
        if name != MAIN and self.docstring is not None:
            del self.tree.body[0]
        self.tree.body = list(_executed(self.tree.body, name == MAIN))
        self.future = frozenset(
            alias.name
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
            for alias in node.names
        )
        self.scopes = ModuleScopes(self.tree)
        self.top = self.scopes.top
        self.parent: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }
        self.named: dict[ast.AST, list[Occurrence]] = {}
        for occurrence in self.scopes.occurrences:
            self.named.setdefault(occurrence.node, []).append(occurrence)

    def outermost(self, node: ast.AST) -> ast.stmt:
        """The top-level statement that holds ``node``."""
        while self.parent[node] is not self.tree:
            node = self.parent[node]
        assert isinstance(node, ast.stmt)
        return node

    def base(self, node: ast.ImportFrom) -> str | None:
        """The absolute name of the module that ``node`` imports from; None when Python could not tell either."""
        if not node.level:
            return node.module or ""
        parts = self.package.split(".") if self.package else []
        if node.level > len(parts):
            return None
        kept = parts[: len(parts) - node.level + 1]
        return ".".join([*kept, *([node.module] if node.module else [])])


def _executed(body: list[ast.stmt], is_main: bool) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If):
            taken = _certain(node.test, is_main)
            if taken is not None:
                yield from _executed(node.body if taken else node.orelse, is_main)
                continue
        yield node


def _certain(test: ast.expr, is_main: bool) -> bool | None:
    """The value of a condition that is known before anything runs; None for all others."""
    text = ast.unparse(test)
    if text.rpartition(".")[2] == "TYPE_CHECKING":
        return False
    if not is_main and text in ("__name__ == '__main__'", "'__main__' == __name__"):
        return False
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        known = {"sys.platform": sys.platform, "os.name": os.name}.get(ast.unparse(test.left))
        if known is not None and isinstance(test.ops[0], ast.Eq | ast.NotEq):
            return (known == test.comparators[0].value) is isinstance(test.ops[0], ast.Eq)
    return None


class ImportGraph:
    """The local modules by name (main is ``__main__``) and what names mean in them."""

    def __init__(self, main: str, modules: Mapping[str, str], packages: frozenset[str], package: str) -> None:
        self.modules: dict[str, LocalModule] = {MAIN: LocalModule(MAIN, main, package)}
        sources = dict(modules)
        self.packages = set(packages)
        for name in modules:
            while "." in name:
                name = name.rpartition(".")[0]
                self.packages.add(name)
                sources.setdefault(name, "")  # a namespace package has no code
        for name in sorted(sources):
            owner = name if name in self.packages else name.rpartition(".")[0]
            self.modules[name] = LocalModule(name, sources[name], owner)
        for name in sorted(sources):
            self._bind_submodule(name)
        self.rebound: set[tuple[str, str]] = set()
        self._known: dict[tuple[str, str], Meaning] = {}
        self._expanded: dict[str, list[str]] = {}
        for module in self.modules.values():
            self.exports(module.name)
        self._find_rebound()
        self._known.clear()
        # Whether the program may look at the names of its classes: a renamed class then keeps its old one.
        self.names_are_read = any(
            isinstance(node, ast.Attribute) and node.attr in ("__name__", "__qualname__")
            for module in self.modules.values()
            for node in ast.walk(module.tree)
        )

    def _bind_submodule(self, name: str) -> None:
        """Importing a module binds its name in its package too, which the package may read."""
        package, _, last = name.rpartition(".")
        module = self.modules.get(package)
        if module is not None and any(o.free and o.name == last for o in module.scopes.occurrences):
            alias = ast.alias(last)
            node = ast.ImportFrom(None, [alias], 1)
            module.top.bound.setdefault(last, []).append(Binding(node, node, alias, module.top))

    # Star imports

    def exports(self, name: str) -> list[str]:
        """The names that ``from name import *`` binds; star imports of the module itself are bound on the way."""
        if name in self._expanded:
            return self._expanded[name]
        self._expanded[name] = []
        module = self.modules[name]
        for node, scope in module.scopes.imports:
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and scope.kind == "module":
                base = module.base(node)
                if base in self.modules and base is not None:
                    for exported in self.exports(base):
                        binding = Binding(node, node, ast.alias(name=exported), scope)
                        scope.bound.setdefault(exported, []).append(binding)
        deleted: set[str] = set()
        for statement in module.tree.body:
            if isinstance(statement, ast.Delete):
                deleted.update(ast.unparse(target) for target in statement.targets)
        listed = self._listed(module)
        public = [n for n in module.top.bound if not n.startswith("_") and n not in deleted]
        names = listed if listed is not None else public
        self._expanded[name] = names
        return names

    def _listed(self, module: LocalModule) -> list[str] | None:
        names: list[str] | None = None
        for node in module.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
                    value = self._strings(module, node.value)
                    if value is None:
                        return None
                    names = (names or []) + value if isinstance(node, ast.AugAssign) else value
        return names

    def _strings(self, module: LocalModule, node: ast.expr) -> list[str] | None:
        if isinstance(node, ast.List | ast.Tuple):
            values = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            return values if len(values) == len(node.elts) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._strings(module, node.left), self._strings(module, node.right)
            return None if left is None or right is None else left + right
        if isinstance(node, ast.Attribute) and node.attr == "__all__":
            value = self.module_of(module, node.value)
            return self._listed(self.modules[value]) if value else None
        return None

    def stars(self, name: str) -> list[str]:
        """The modules from outside whose names the local module ``name`` has by star imports, directly or not."""
        outside: list[str] = []
        todo, seen = [name], {name}
        while todo:
            module = self.modules[todo.pop()]
            for node, _ in module.scopes.imports:
                base = module.base(node) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" else None
                if base is not None and base not in seen:
                    seen.add(base)
                    (todo if base in self.modules else outside).append(base)
        return outside

    def base_is_local(self, module: LocalModule, node: ast.ImportFrom) -> bool:
        """Whether ``node`` imports from a local module."""
        return module.base(node) in self.modules

    # Meaning

    def _find_rebound(self) -> None:
        for module in self.modules.values():
            for name, bindings in module.top.bound.items():
                if any(b.inside is not None and _in_function(b.inside) for b in bindings):
                    self.rebound.add((module.name, name))
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                    owner = self.module_of(module, node.value)
                    if owner is not None:
                        self.rebound.add((owner, node.attr))
                        top = self.modules[owner].top
                        top.bound.setdefault(node.attr, []).append(Binding(node, inside=top))

    def target(self, module: LocalModule, binding: Binding) -> Target:
        """What an import binding binds; None for a binding of another kind and for an import that must fail."""
        node, alias = binding.statement, binding.alias
        if node is None or alias is None:
            return None
        if isinstance(node, ast.Import):
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            return ModuleValue(name) if alias.name in self.modules and name != MAIN else External(name)
        base = module.base(node)
        if base is None:
            return None
        if base not in self.modules:
            return External(f"{base}.{alias.name}")
        submodule = f"{base}.{alias.name}"
        own = base == module.name and submodule in self.modules
        if alias.name in self.modules[base].top.bound and not own:
            return Symbol(base, alias.name)
        if submodule in self.modules:
            return ModuleValue(submodule)
        stars = self.stars(base) if "__getattr__" not in self.modules[base].top.bound else []
        return External(f"{stars[0]}.{alias.name}") if stars else Missing(base, alias.name)

    def meaning(self, module: LocalModule, scope: Scope, name: str, seen: frozenset[Symbol] = frozenset()) -> Meaning:
        """What ``name``, bound in ``scope`` (``module.top`` or a function's), means.

        A local variable that is no stand-in for an import comes back as a symbol whose name starts with a dot.
        """
        if scope is module.top and not seen:
            known = self._known.get((module.name, name))
            if known is None:
                known = self._known[module.name, name] = self._meaning(module, scope, name, seen)
            return known
        return self._meaning(module, scope, name, seen)

    def _meaning(self, module: LocalModule, scope: Scope, name: str, seen: frozenset[Symbol]) -> Meaning:
        own = Symbol(module.name, name if scope is module.top else f".{name}")
        bindings = scope.bound.get(name, [])
        if scope.kind in ("class", "comprehension") or not bindings or own in seen:
            return own
        if scope is module.top and (module.name, name) in self.rebound:
            return own
        targets = {self.target(module, b) for b in bindings if not self._fails(module, b)}
        if len(targets) != 1:
            return own
        (target,) = targets
        if isinstance(target, ModuleValue):
            return target
        if isinstance(target, External) and scope is module.top:
            return Symbol("", f"{name}={target.target}")
        if isinstance(target, Symbol) and (target.module, target.name) not in self.rebound:
            there = self.modules[target.module]
            return self.meaning(there, there.top, target.name, seen | {own})
        return own

    def _fails(self, module: LocalModule, binding: Binding) -> bool:
        return isinstance(binding.statement, ast.ImportFrom) and module.base(binding.statement) is None

    def module_of(self, module: LocalModule, node: ast.expr) -> str | None:
        """The local module that the expression ``node`` stands for, if it is a plain path to one."""
        if isinstance(node, ast.Name):
            for occurrence in module.named.get(node, ()):
                meaning = self.meaning(module, occurrence.scope, node.id)
                return meaning.module if isinstance(meaning, ModuleValue) else None
        if isinstance(node, ast.Attribute):
            owner = self.module_of(module, node.value)
            meaning_or_none = self.attribute(owner, node.attr) if owner else None
            return meaning_or_none.module if isinstance(meaning_or_none, ModuleValue) else None
        return None

    def attribute(self, owner: str, name: str) -> Meaning | None:
        """What ``owner.name`` means; None when the module has no such attribute of its own."""
        module = self.modules[owner]
        if name in module.top.bound:
            return self.meaning(module, module.top, name)
        return ModuleValue(f"{owner}.{name}") if f"{owner}.{name}" in self.modules else None

    def uncertain(self, module: LocalModule) -> list[str]:
        """Names of builtins that the module may or may not bind: until it does, they mean the builtins."""
        certain: set[str] = set()
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                certain.add(node.name)
            elif isinstance(node, ast.Assign):
                certain.update(target.id for target in node.targets if isinstance(target, ast.Name))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                certain.update(n for n, bound in module.top.bound.items() if any(b.statement is node for b in bound))
        return [name for name in module.top.bound if hasattr(builtins, name) and name not in certain]

    def attributes(self, owner: str) -> list[str]:
        """The names of the attributes of the local module ``owner``, submodules included."""
        submodules = [n.rpartition(".")[2] for n in self.modules if n.rpartition(".")[0] == owner]
        return list(dict.fromkeys([*self.modules[owner].top.bound, *submodules]))

    # Execution

    def required(self, module: LocalModule, node: ImportNode) -> list[str]:
        """The local modules that the import statement executes, in order, whether or not they ran before."""
        names: list[str] = []
        if isinstance(node, ast.Import):
            for alias in node.names:
                names += self.lineage(alias.name)
        else:
            base = module.base(node)
            names += self.lineage(base) if base else []
            for alias in node.names:
                if base and f"{base}.{alias.name}" in self.modules:
                    meaning = self.attribute(base, alias.name) if base in self.modules else None
                    names += [f"{base}.{alias.name}"] if isinstance(meaning, ModuleValue) else []
        return [n for n in dict.fromkeys(names) if n != MAIN]

    def lineage(self, name: str) -> list[str]:
        """The local ones of the packages that ``name`` is in, outermost first, and ``name``."""
        parts = name.split(".")
        names = [".".join(parts[: i + 1]) for i in range(len(parts))]
        return [n for n in names if n in self.modules]

    def late(self) -> frozenset[str]:
        """Modules that only functions import, star imports from outside excepted: those cannot run in a function."""
        found: set[str] = set()
        todo = [MAIN, *self.lineage(self.modules[MAIN].package)]
        while todo:
            current = todo.pop()
            if current not in found:
                found.add(current)
                module = self.modules[current]
                for node, scope in module.scopes.imports:
                    if scope.kind != "function":
                        todo += self.required(module, node)
        late = self.closure(MAIN) - found
        return frozenset(name for name in late if not any(self.stars(n) for n in self.closure(name)))

    def closure(self, name: str) -> set[str]:
        """``name`` and all local modules that its import may execute."""
        found: set[str] = set()
        todo = [name]
        while todo:
            current = todo.pop()
            if current not in found:
                found.add(current)
                module = self.modules[current]
                for node, _ in module.scopes.imports:
                    todo += self.required(module, node)
        return found


def _in_function(scope: Scope) -> bool:
    return any(s.kind == "function" for s in scope.chain())

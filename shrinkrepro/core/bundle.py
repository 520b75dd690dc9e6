"""Folding: a script and the local modules that it imports become one file that behaves the same.

Decision: the statements of a module go where it is first imported, its variables become variables of the one
file (renamed only where two would meet), and references are rewritten by scope. Where a module is used as an
object, one is made of the folded names; no code is ever put into a string.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from shrinkrepro.core.folded_names import FoldedNames
from shrinkrepro.core.import_graph import (
    MAIN,
    ImportGraph,
    ImportNode,
    LocalModule,
    Missing,
    ModuleValue,
    Symbol,
)
from shrinkrepro.core.module_objects import module_class, module_object
from shrinkrepro.core.module_scopes import Binding, FunctionNode, Scope

_READERS = frozenset({"getattr", "hasattr", "vars", "dir"})


class BundleError(Exception):
    """The modules cannot be folded into one file; the text says why."""


def bundle(main: str, modules: Mapping[str, str], packages: frozenset[str] = frozenset(), package: str = "") -> str:
    """Fold the local ``modules`` (dotted name -> source) that ``main`` imports into one source text.

    ``packages`` are the names whose source is an ``__init__``; ``package`` is main's own package when it is run
    with ``-m``. ``main`` comes back unchanged when it imports none of the modules.

    Raises:
        BundleError: a module has a syntax error, or the folded text would not compile.
        SyntaxError: ``main`` has a syntax error.
    """
    compile(main, "main", "exec", dont_inherit=True)
    try:
        recorder = FoldedNames()
        first = _Fold(ImportGraph(main, modules, packages, package), recorder)
        first.run()
        if not first.emitted:
            return main
        graph = ImportGraph(main, modules, packages, package)
        fold = _Fold(graph, recorder.settle(graph, first.emitted), first.objects, first.used)
        text = ast.unparse(fold.run()) + "\n"
        compile(text, "bundle", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise BundleError(f"the local modules cannot be folded into one file: {error}") from error
    return text


class _Fold:
    """One run over the modules. The first run only records which names and objects are needed."""

    def __init__(
        self,
        graph: ImportGraph,
        names: FoldedNames,
        objects: Mapping[str, str] | None = None,
        used: frozenset[str] | set[str] = frozenset(),
    ) -> None:
        self.graph = graph
        self.names = names
        self.objects: dict[str, str] = dict(objects or {})  # module -> "read" or "live"
        self.emitted: list[str] = []
        self.used: set[str] = set(used)  # what the folded file itself must import
        self._class_made = False
        self._lift_annotations = self._agree_on_annotations()

    def run(self) -> ast.Module:
        main = self.graph.modules[MAIN]
        body: list[ast.stmt] = []
        if main.package:
            for name in self.graph._lineage(main.package):
                body += self.inline(name)
        body += self._body(main)
        docstring: list[ast.stmt] = []
        if body and main.docstring is not None:
            docstring = [body.pop(body.index(main.tree.body[0]))]
        future = set().union(*(self.graph.modules[n].future for n in [MAIN, *self.emitted]))
        if not self._lift_annotations:
            future.discard("annotations")
        head: list[ast.stmt] = []
        if future:
            head.append(ast.ImportFrom("__future__", [ast.alias(n) for n in sorted(future)], 0))
        for name in sorted(self.used):
            final = self.names.of(Symbol("", f"{name}={name}"))
            head.append(ast.Import([ast.alias(name, None if final == name else final)]))
        tree = ast.Module([*docstring, *head, *_without_repeats(body, head)], [])
        return ast.fix_missing_locations(tree)

    def inline(self, name: str) -> list[ast.stmt]:
        """The statements of the module, the first time that it is asked for."""
        if name in self.emitted or name == MAIN:
            return []
        self.emitted.append(name)
        module = self.graph.modules[name]
        kind = self.objects.get(name)
        before: list[ast.stmt] = []
        if kind == "live" and not self._class_made:
            self._class_made = True
            before += module_class(self.names)
        if kind == "live":
            before += module_object(self.graph, module, self.names, kind, self.objects)
        body = self._body(module)
        after = module_object(self.graph, module, self.names, kind, self.objects) if kind == "read" else []
        return [*before, *body, *after]

    def _body(self, module: LocalModule) -> list[ast.stmt]:
        rewriter = _Rewriter(self, module, not self._lift_annotations and "annotations" in module.future)
        early = self._early(module)
        body: list[ast.stmt] = []
        for index, statement in enumerate(module.tree.body):
            for name in early.get(index, ()):
                body += self.inline(name)
            body += rewriter.statement(statement)
        for name in early.get(len(module.tree.body), ()):
            body += self.inline(name)
        return body

    # Where a module runs whose import does not stand at the top level

    def _early(self, module: LocalModule) -> dict[int, list[str]]:
        early: dict[int, list[str]] = {}
        for node, scope in module.scopes.imports:
            needed = self.graph.required(module, node)
            index = self._index(module, node)
            if not needed or node in module.tree.body:
                continue
            if scope.kind != "module":
                position = self._first_run(module, index) if scope.kind == "function" else index
                early.setdefault(position, []).extend(needed)
            elif any(self._imported_elsewhere(name, node) for name in needed):
                early.setdefault(index, []).extend(needed)
        return early

    def _index(self, module: LocalModule, node: ast.AST) -> int:
        while module.parent[node] is not module.tree:
            node = module.parent[node]
        return next(i for i, statement in enumerate(module.tree.body) if statement is node)

    def _imported_elsewhere(self, name: str, node: ImportNode) -> bool:
        inner = self.graph.closure(name)
        return any(
            other is not node and inner.intersection(self.graph.required(module, other))
            for module in self.graph.modules.values()
            if module.name not in inner
            for other, _ in module.scopes.imports
        )

    def _first_run(self, module: LocalModule, index: int) -> int:
        """The first top-level statement that may call into the definition at ``index``; the end if none does."""
        body = module.tree.body
        reached = {getattr(body[index], "name", "")}
        if not isinstance(body[index], ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return index
        for _ in body:  # a definition further up may call one further down
            for statement in body:
                if _is_definition(statement) and reached & _names(statement):
                    reached.add(getattr(statement, "name", ""))
        for position in range(index + 1, len(body)):
            if not _is_definition(body[position]) and reached & _names(body[position]):
                return position
        return len(body) if not getattr(body[index], "decorator_list", []) else index

    # Annotations

    def _agree_on_annotations(self) -> bool:
        """Whether ``from __future__ import annotations`` may hold for the whole file."""
        return all(
            "annotations" in module.future
            or not any(
                isinstance(n, ast.arg | ast.AnnAssign | FunctionNode)
                and getattr(n, "annotation", getattr(n, "returns", None)) is not None
                for n in ast.walk(module.tree)
            )
            for module in self.graph.modules.values()
        )


class _Rewriter(ast.NodeTransformer):
    """Rewrites the statements of one module for the folded file."""

    def __init__(self, fold: _Fold, module: LocalModule, stringify: bool) -> None:
        self.fold = fold
        self.graph = fold.graph
        self.module = module
        self.stringify = stringify
        self._scopes: list[Scope] = [module.top]
        self._globals: list[set[str]] = []  # names to declare in the definition at work

    @property
    def scope(self) -> Scope:
        return self._scopes[-1]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        result = self.visit(node)
        return result if isinstance(result, list) else [] if result is None else [result]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        full = {f for f in ("body", "finalbody", "orelse") if isinstance(getattr(node, f, None), list)}
        had = {f for f in full if getattr(node, f)}
        node = super().generic_visit(node)
        for name in had:
            if not getattr(node, name) and (name == "body" or isinstance(node, ast.Try) and name == "finalbody"):
                setattr(node, name, [ast.Pass()])
        return node

    # Names

    def _final(self, symbol: Symbol, spelled: str) -> str:
        return self.fold.names.of(symbol, self.scope, spelled)

    def _value(self, meaning: Symbol | ModuleValue, spelled: str, live: bool = True) -> ast.expr:
        if isinstance(meaning, ModuleValue):
            if live or meaning.module not in self.fold.objects:
                self.fold.objects[meaning.module] = "live" if live else "read"
            symbol = Symbol("", f"{meaning.module.rpartition('.')[2]}=module {meaning.module}")
            return ast.Name(self._final(symbol, spelled), ast.Load())
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
            if scope is self.module.top and node.id not in scope.bound:
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
        if isinstance(node.ctx, ast.Load) and "__getattr__" in there.top.bound:
            return self._lazy(owner, node.attr)
        return self._descend(node)

    def _descend(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return node

    def _lazy(self, owner: str, name: str) -> ast.expr:
        function = ast.Name(self._final(Symbol(owner, "__getattr__"), ""), ast.Load())
        return ast.Call(function, [ast.Constant(name)], [])

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if ast.unparse(node.value) == "sys.modules" and self.module.name != MAIN:
            if ast.unparse(node.slice) == "__name__":
                return self._value(ModuleValue(self.module.name), "")
        self.generic_visit(node)
        return node

    # Scopes

    def _definition(self, node: FunctionNode | ast.ClassDef) -> ast.AST:
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
        return node

    def _visit_field(self, node: ast.AST, name: str) -> None:
        value = getattr(node, name, None)
        if isinstance(value, list):
            result: list[ast.AST] = []
            for item in value:
                new = self.visit(item) if isinstance(item, ast.AST) else item
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

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._definition(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
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
        if self.scope is self.module.top:
            for name in self.graph.required(self.module, node):
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


def _is_definition(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.decorator_list


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _without_repeats(body: list[ast.stmt], head: list[ast.stmt]) -> list[ast.stmt]:
    """``body`` without the import statements that stand above in the same words."""
    seen = {ast.unparse(node) for node in head}
    kept: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            text = ast.unparse(node)
            if text in seen:
                continue
            seen.add(text)
        kept.append(node)
    return kept

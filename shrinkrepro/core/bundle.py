"""Folding: a script and the local modules that it imports become one file that behaves the same.

Decision: the statements of a module go where it is first imported, its variables become variables of the one
file (renamed only where two would meet), and references are rewritten by scope. Where a module is used as an
object, one is made of the folded names; no code is ever put into a string. One thing is not kept: a module that
a function imports runs before the statement that may call the function, not in the middle of the call.
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
    ModuleValue,
    Symbol,
)
from shrinkrepro.core.module_objects import module_class, module_object, object_kind, object_variables, symbol_of
from shrinkrepro.core.module_rewriter import ModuleRewriter
from shrinkrepro.core.module_scopes import FunctionNode, ModuleScopes


class BundleError(Exception):
    """The modules cannot be folded into one file; the text says why."""


def bundle(
    main: str,
    modules: Mapping[str, str],
    packages: frozenset[str] = frozenset(),
    package: str = "",
    lazily: bool = False,
) -> str:
    """Fold the local ``modules`` (dotted name -> source) that ``main`` imports into one source text.

    ``packages`` are the names whose source is an ``__init__``; ``package`` is main's own package when it is run
    with ``-m``. ``main`` comes back unchanged when it imports none of the modules.

    What functions import runs before the statement that may call the function; so it may run where it did not run
    before (an optional module whose own imports are missing). ``lazily`` keeps even that: such a module becomes a
    function that the import calls. It reads and reduces worse, so it is for the caller whose first bundle differs.

    Raises:
        BundleError: a module has a syntax error, or the folded text would not compile.
        SyntaxError: ``main`` has a syntax error.
    """
    compile(main, "main", "exec", dont_inherit=True)
    try:
        recorder = FoldedNames()
        graph = ImportGraph(main, modules, packages, package)
        if graph.closure(MAIN) == {MAIN} and not package:
            return main
        lazy = graph.late() if lazily else frozenset[str]()
        first = _Fold(graph, recorder, lazy)
        first.run()
        graph = ImportGraph(main, modules, packages, package)
        objects = {name: object_kind(graph, name, kind) for name, kind in first.objects.items()}
        if objects:
            module_class(recorder)  # records the names that the objects need
        fold = _Fold(graph, recorder.settle(graph, first.emitted), lazy, objects, first.used)
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
        lazy: frozenset[str],
        objects: Mapping[str, str] | None = None,
        used: frozenset[str] | set[str] = frozenset(),
    ) -> None:
        self.graph = graph
        self.names = names
        self.lazy = lazy
        self._loading = False
        self.objects: dict[str, str] = dict(objects or {})  # module -> "read" or "live"
        self.emitted: list[str] = []
        self.used: set[str] = set(used)  # what the folded file itself must import
        self._definitions: list[tuple[str, set[str]]] = []  # name, the names in its definition
        self._waiting: list[tuple[set[str], list[str]]] = []  # functions, the modules that they import
        self._due: list[list[str]] = []  # modules to run at the first chance
        self._running: set[str] = set()
        self._lift_annotations = self._agree_on_annotations()

    def run(self) -> ast.Module:
        main = self.graph.modules[MAIN]
        body: list[ast.stmt] = []
        if main.package:
            for name in self.graph.lineage(main.package):
                body += self.inline(name)
        body += self._body(main)
        loaders = self._loaders()
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
        if "live" in self.objects.values():
            head += module_class(self.names)
        tree = ast.Module([*docstring, *head, *loaders, *_without_repeats(body, head)], [])
        return ast.fix_missing_locations(tree)

    def need_object(self, name: str, kind: str) -> None:
        """Have the folded file make an object for the module, and for the modules that are its attributes."""
        if self.objects.get(name) in (kind, "live"):
            return
        self.objects[name] = kind
        self.names.of(symbol_of(name))
        for attribute in self.graph.attributes(name):
            meaning = self.graph.attribute(name, attribute)
            if isinstance(meaning, ModuleValue):
                self.need_object(meaning.module, kind)

    def inline(self, name: str) -> list[ast.stmt]:
        """The statements of the module, the first time that it is asked for; the call that runs a lazy one."""
        if name in self.lazy:
            return [ast.Expr(ast.Call(ast.Name(self.names.of(_loader(name)), ast.Load()), [], []))]
        return [] if name in self.emitted or name == MAIN or self._loading else self._statements(name)

    def _loaders(self) -> list[ast.stmt]:
        """The functions that run the lazy modules, once each."""
        self._loading = True
        loaders: list[ast.stmt] = []
        for name in sorted(self.lazy):
            body = self._statements(name)
            final = self.names.of(_loader(name))
            bound = sorted(ModuleScopes(ast.Module(body, [])).top.bound)
            text = f"def {final}():\n    global {', '.join([final, *bound])}\n    {final} = lambda: None"
            head = ast.parse(text).body[0]
            assert isinstance(head, ast.FunctionDef)
            head.body += [_Unannotated().visit(node) for node in body]
            loaders.append(head)
        return loaders

    def _statements(self, name: str) -> list[ast.stmt]:
        self.emitted.append(name)
        module = self.graph.modules[name]
        kind = self.objects.get(name)
        if kind is not None:
            variables = object_variables(self.graph, module, self.names, self.objects)
            self._definitions.append((self.names.of(symbol_of(name)), set(variables.values())))
            made = module_object(name, variables, self.names, kind)
        self._running.add(name)
        body = [*self._builtins(module), *self._body(module)]
        self._running.discard(name)
        if kind is None:
            return body
        return [*made, *body] if kind == "live" else [*body, *made]

    def _builtins(self, module: LocalModule) -> list[ast.stmt]:
        """Start values of renamed variables that hide builtins only where a branch is taken."""
        result: list[ast.stmt] = []
        for name in self.graph.uncertain(module):
            meaning = self.graph.meaning(module, module.top, name)
            final = self.names.of(meaning) if isinstance(meaning, Symbol) else name
            if final != name:
                result.append(ast.Assign([ast.Name(final, ast.Store())], ast.Name(name, ast.Load())))
        return result

    def _body(self, module: LocalModule) -> list[ast.stmt]:
        rewriter = ModuleRewriter(self, module, not self._lift_annotations and "annotations" in module.future)
        body: list[ast.stmt] = []
        for statement in module.tree.body:
            for name in self._early(module, statement):
                body += self.inline(name)
            needed = [
                name
                for node, scope in module.scopes.imports
                if scope.kind == "function" and module.outermost(node) is statement
                for name in self.graph.required(module, node)
                if name not in self.lazy
            ]
            folded = rewriter.statement(statement)
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                body += [node for own in folded for node in self._before(own, needed)]
            body += folded
        return body

    # Where a module runs whose import does not stand at the top level

    def _early(self, module: LocalModule, statement: ast.stmt) -> list[str]:
        """Modules that run before the top-level ``statement``, though their imports stand inside it.

        A module of one branch runs in the branch, unless another import counts on it.
        """
        early: list[str] = []
        for node, scope in module.scopes.imports:
            if node is statement or scope.kind == "function" or module.outermost(node) is not statement:
                continue
            needed = self.graph.required(module, node)
            if scope.kind == "class" or any(self._imported_elsewhere(name, node) for name in needed):
                early += needed
        return early

    def _imported_elsewhere(self, name: str, node: ImportNode) -> bool:
        inner = self.graph.closure(name).difference(self.emitted)
        return any(
            other is not node and inner.intersection(self.graph.required(module, other))
            for module in self.graph.modules.values()
            if module.name not in inner
            for other, _ in module.scopes.imports
        )

    # Modules that are imported inside functions run when the function may run, not where it is defined

    def _before(self, statement: ast.stmt, needed: list[str]) -> list[ast.stmt]:
        """What must stand before the folded ``statement``, whose functions import the modules ``needed``."""
        names = _names(statement)
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._definitions.append((statement.name, names))
            if needed and statement.decorator_list:
                self._due.append(needed)  # a registry may call it without a mention
                return []
            if needed:
                self._waiting.append(({statement.name}, needed))
            names = _called_at_once(statement)
            needed = []
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
            self._definitions += [(t.id, {statement.value.id}) for t in statement.targets if isinstance(t, ast.Name)]
            return []
        due = [modules for first, modules in self._waiting if names & self._leads_to(first)]
        self._waiting = [entry for entry in self._waiting if entry[1] not in due]
        self._due += [needed, *due] if needed else due
        # What would itself need a module that is still running cannot be meant to run now.
        ready = [ms for ms in self._due if not any(self.graph.closure(m) & self._running for m in ms)]
        self._due = [ms for ms in self._due if ms not in ready]
        return [node for modules in ready for name in modules for node in self.inline(name)]

    def _leads_to(self, names: set[str]) -> set[str]:
        """``names`` and those of the definitions so far that mention them, directly or not."""
        found = set(names)
        grown = True
        while grown:
            more = {name for name, mentioned in self._definitions if name not in found and mentioned & found}
            found |= more
            grown = bool(more)
        return found

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


class _Unannotated(ast.NodeTransformer):
    """Takes annotations off variables: those of a function's globals cannot have any."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return ast.Pass() if node.value is None else ast.Assign([node.target], node.value)


def _loader(module: str) -> Symbol:
    return Symbol("", f"import_{module.rpartition('.')[2]}=loader {module}")


def _names(node: ast.AST) -> set[str]:
    """The variables of the file that are used in ``node``."""
    statement = node if isinstance(node, ast.stmt) else ast.Expr(node)  # type: ignore[arg-type]
    scopes = ModuleScopes(ast.Module([statement], []))
    return {occurrence.name for occurrence in scopes.occurrences if occurrence.scope is scopes.top}


def _called_at_once(node: ast.AST) -> set[str]:
    """Names in the calls that a definition makes when it is executed: defaults, bases, a class's own statements."""
    parts: list[ast.AST] = []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        parts = [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
    elif isinstance(node, ast.ClassDef):
        parts = [*node.decorator_list, *node.bases, *node.keywords]
        return set().union(*(_called_at_once(n) for n in [*parts, *node.body]))
    else:
        parts = [node]
    return set().union(*(_names(n) for part in parts for n in ast.walk(part) if isinstance(n, ast.Call)))


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

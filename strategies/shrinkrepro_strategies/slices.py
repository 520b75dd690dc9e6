"""Slices: what a program no longer needs once some of its nodes are gone.

Decision: by names alone. A definition goes when every use of what it binds lies in what goes; statements that only
poke a thing (``x.append(1)``, ``x.y = 1``) go with the thing, and an attribute's assignment or a method goes with
the last load of its name. Whether an effect was needed, a query decides.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from shrinkrepro.core.edits import Change, Path
from shrinkrepro.core.program import Program
from shrinkrepro.core.scopes import Binding

_MOST_STATEMENTS = 400  # a slice that large is the program, not a slice
# Methods that a library calls by itself: no load of the name is no sign that they are dead.
_HOOKS = frozenset({"forward", "setup_context", "backward", "jvp", "vmap", "step"})
_Thing = Binding | str  # a name in a scope, or an attribute by its name


class Slicer:
    """Slices of one program: make one for all the slices that a strategy asks for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._loads: dict[str, list[Path]] = {}
        self._stores: dict[str, list[Path]] = {}
        for path, node in program.walk(ast.Attribute):
            where = self._loads if isinstance(node.ctx, ast.Load) else self._stores
            where.setdefault(node.attr, []).append(path)
        for path, cls in program.walk(ast.ClassDef):
            for i, statement in enumerate(cls.body):
                if isinstance(statement, ast.FunctionDef):
                    self._stores.setdefault(statement.name, []).append((*path, "body", i))

    def dead_without(self, roots: Iterable[Path]) -> list[Path]:
        """Statements that nothing needs once the nodes at ``roots`` are gone, in the order found."""
        gone = set(roots)
        statements: list[Path] = []
        pending = [thing for root in list(gone) for thing in self._things_below(root)]
        dead: set[_Thing] = set()
        while pending and len(statements) < _MOST_STATEMENTS:
            thing = pending.pop()
            if thing in dead:
                continue
            found = self._attribute(thing, gone) if isinstance(thing, str) else self._name(thing, gone)
            if found is None:
                continue
            dead.add(thing)
            for path in found:
                if not _covers(gone, path):
                    gone.add(path)
                    statements.append(path)
                    pending.extend(t for t in self._things_below(path) if t not in dead)
        return statements

    def with_dead(self, *changes: Change) -> tuple[Change, ...]:
        """``changes`` and the deletion of what is dead after them; what their new text uses is kept."""
        kept: set[str] = set()
        for change in changes:
            if change.text is not None:
                kept |= _names_of_text(change.text)
        dead = self.dead_without(change.path for change in changes)
        return (*changes, *(Change(path) for path in dead if not (kept and self._binds(path) & kept)))

    def gain(self, changes: Iterable[Change]) -> int:
        """About how many tokens ``changes`` save."""
        saved = 0
        for change in changes:
            saved += self.program.size(change.path)
            if change.text is not None:
                saved -= len(change.text) // 4
        return saved

    def _things_below(self, root: Path) -> Iterator[_Thing]:
        stack: list[tuple[Path, ast.AST]] = [(root, self.program.node(root))]
        seen: set[_Thing] = set()
        while stack:
            path, node = stack.pop()
            thing: _Thing | None = None
            if isinstance(node, ast.Name):
                binding = self.program.scopes.binding(path)
                if binding is not None and binding.scope[: len(root)] != root:
                    thing = binding
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                thing = node.attr
            if thing is not None and thing not in seen:
                seen.add(thing)
                yield thing
            for name, value in ast.iter_fields(node):
                if isinstance(value, ast.AST):
                    stack.append(((*path, name), value))
                elif isinstance(value, list):
                    stack.extend(((*path, name, i), v) for i, v in enumerate(value) if isinstance(v, ast.AST))

    def _attribute(self, name: str, gone: set[Path]) -> list[Path] | None:
        if name in _HOOKS or name.startswith("__") or name not in self._stores:
            return None
        if any(not _covers(gone, path) for path in self._loads.get(name, ())):
            return None
        statements = []
        for path in self._stores[name]:
            at, statement = self.program.statement_of(path)
            if isinstance(statement, ast.Assign) and len(statement.targets) > 1:
                return None
            if isinstance(statement, ast.Assign) and not isinstance(statement.targets[0], ast.Attribute):
                return None
            if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.FunctionDef):
                return None
            statements.append(at)
        return statements

    def _name(self, binding: Binding, gone: set[Path]) -> list[Path] | None:
        """The statements to delete so that ``binding`` is gone; None when something still needs it."""
        program = self.program
        statements: list[Path] = []
        for use in program.scopes.uses.get(binding, []):
            if not _covers(gone, use):
                poke = self._poke(use)
                if poke is None:
                    return None
                statements.append(poke)
        for definition in program.scopes.definitions.get(binding, []):
            if _covers(gone, definition):
                continue
            node = program.node(definition)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                statements.append(definition)
                continue
            if not isinstance(node, ast.Name):
                return None  # parameters and imports have strategies of their own
            path, statement = program.statement_of(definition)
            if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
                return None
            for other in self._stored(statement):
                if other != binding and any(not _covers(gone, u) for u in program.scopes.uses.get(other, [])):
                    return None
            statements.append(path)
        return statements

    def _stored(self, statement: ast.stmt) -> Iterator[Binding]:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                binding = self.program.scopes.binding(self.program.paths[id(node)])
                if binding is not None:
                    yield binding

    def _binds(self, path: Path) -> set[str]:
        node = self.program.node(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return {node.name}
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    def _poke(self, use: Path) -> Path | None:
        """The statement that does nothing but poke the thing at ``use``; None when it does more."""
        thing = self.program.node(use)
        at, statement = self.program.statement_of(use)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            func = statement.value.func
            if isinstance(func, ast.Attribute) and _root(func) is thing:
                return at
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AugAssign | ast.AnnAssign):
            targets = [statement.target]
        if len(targets) == 1 and not isinstance(targets[0], ast.Name) and _root(targets[0]) is thing:
            return at
        return None


def _covers(gone: set[Path], path: Path) -> bool:
    return any(path[:k] in gone for k in range(len(path), 0, -1))


def _names_of_text(text: str) -> set[str]:
    try:
        tree = ast.parse(text.strip())
    except SyntaxError:
        return set()
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node

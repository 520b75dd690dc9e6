"""Dependents: a name or an attribute deleted together with everything that depends on it.

Decision: a definition and its uses go in one edit, followed through assignments, because deleting either alone
breaks the program: ``opt = SGD(..); sched = StepLR(opt); opt.step(); sched.step()`` can only go as a whole.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from shrinkrepro.core.edits import Edit, Path, delete
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.scopes import Binding
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.blocks import DEFINITIONS, LOOPS
from shrinkrepro_strategies.liveness import covered, outermost

_LIMIT = 60  # deletions in one edit; longer ones take the failure with them


class _Dependents:
    """What must go when some names go. ``broken`` when something can't be cut out.

    ``narrow`` cuts list elements, keywords and last arguments where it can; else whole statements go.
    """

    def __init__(self, program: Program, stored: Mapping[Path, Sequence[Path]], *, narrow: bool) -> None:
        self.program = program
        self.narrow = narrow
        self.gone: set[Path] = set()
        self.names: set[Binding] = set()
        self.broken = False
        self._stored = stored

    def drop_binding(self, binding: Binding) -> None:
        """Delete ``binding``'s definitions and uses."""
        if binding in self.names or self.broken:
            return
        self.names.add(binding)
        scopes = self.program.scopes
        for path in scopes.definitions.get(binding, ()):
            self._drop_definition(path)
        for path in scopes.uses.get(binding, ()):
            self.drop_use(path)

    def _drop_definition(self, path: Path) -> None:
        node = self.program.node(path)
        if isinstance(node, (*DEFINITIONS, ast.alias)):
            self.add(path)
        elif isinstance(node, ast.Name):
            self._drop_target(path)
        else:
            self.broken = True

    def drop_use(self, path: Path) -> None:
        """Delete the smallest thing that holds the use at ``path`` and can go."""
        if covered(path, self.gone) or self.broken:
            return
        below = path
        for up, node in self.program.ancestors(path):
            if isinstance(node, DEFINITIONS) and below[len(up)] == "decorator_list":
                self.add(below)
                return
            if self.narrow and self._is_part(node, below):
                self.add(below)
                return
            if isinstance(node, ast.stmt):
                self._drop_statement(up, node)
                return
            below = up
        self.broken = True

    def _is_part(self, node: ast.AST, below: Path) -> bool:
        if isinstance(node, ast.List | ast.Set | ast.Dict | ast.BoolOp):
            return True
        if isinstance(node, ast.Call):
            return isinstance(self.program.node(below), ast.keyword) or (
                below[-2:] == ("args", len(node.args) - 1) and len(node.args) > 1
            )
        return False

    def _drop_statement(self, path: Path, node: ast.stmt) -> None:
        if isinstance(node, (*DEFINITIONS, ast.If, ast.Try)) or (isinstance(node, LOOPS) and self.narrow):
            self.broken = True
            return
        self.add(path)
        for target in self._stored.get(path, ()):
            binding = self.program.scopes.binding(target)
            if binding is not None and all(covered(d, self.gone) for d in self.program.scopes.definitions[binding]):
                self.drop_binding(binding)

    def _drop_target(self, path: Path) -> None:
        statement, node = self.program.statement_of(path)
        up, parent = self.program.parent(path)
        if isinstance(parent, ast.withitem):
            self.add(up)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            if not covered(statement, self.gone):
                self._drop_statement(statement, node)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.add(statement)
        else:
            self.broken = True

    def add(self, path: Path) -> None:
        """Delete ``path``."""
        self.gone.add(path)
        self.broken = self.broken or len(self.gone) > _LIMIT

    def edit(self) -> Edit | None:
        """All that goes, as one edit, when it can."""
        paths = outermost(self.gone)
        return None if self.broken or len(paths) < 2 else delete(*paths)


def _stored_below(program: Program) -> dict[Path, list[Path]]:
    """The names that each statement binds, by the statement's path."""
    stored: dict[Path, list[Path]] = {}
    for path, name in program.walk(ast.Name):
        if isinstance(name.ctx, ast.Store):
            for up, node in program.ancestors(path):
                if isinstance(node, ast.stmt):
                    stored.setdefault(up, []).append(path)
    return stored


def _distinct(edits: Iterable[Edit | None]) -> Iterator[Edit]:
    seen: set[Edit] = set()
    for edit in edits:
        if edit is not None and edit not in seen:
            seen.add(edit)
            yield edit


def _by_name(program: Program) -> Iterator[Edit | None]:
    stored = _stored_below(program)
    for binding in program.scopes.definitions:
        if binding.scope and isinstance(program.node(binding.scope), ast.ClassDef | ast.Lambda):
            continue
        for narrow in (True, False):
            cut = _Dependents(program, stored, narrow=narrow)
            cut.drop_binding(binding)
            yield cut.edit()


@strategy("drop-name", tier=Tier.COARSE)
def drop_name(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete a name with everything that depends on it: its definition, its uses, what they define, and so on.

    Two edits a name: one cuts list elements, keywords and last arguments that use the name, the other whole
    statements.
    """
    yield from _distinct(_by_name(program))


@strategy("drop-attribute", tier=Tier.COARSE)
def drop_attribute(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete an attribute of the program's own objects: its assignments and the statements that read it.

    Methods go with the statements that call them in the same way.
    """
    yield from _distinct(_by_attribute(program))


def _by_attribute(program: Program) -> Iterator[Edit | None]:
    uses: dict[str, list[Path]] = {}
    stores: dict[str, list[Path]] = {}
    for path, node in program.walk(ast.Attribute):
        (uses if isinstance(node.ctx, ast.Load) else stores).setdefault(node.attr, []).append(path)
    for path, definition in program.walk(*DEFINITIONS):
        if isinstance(program.parent(path)[1], ast.ClassDef) and not definition.name.startswith("__"):
            stores.setdefault(definition.name, []).append(path)
    below = _stored_below(program)
    for name, paths in stores.items():
        for narrow in (True, False):
            cut = _Dependents(program, below, narrow=narrow)
            for path in paths:
                if isinstance(program.node(path), DEFINITIONS):
                    cut.add(path)
                else:
                    cut.drop_use(path)
            for path in uses.get(name, ()):
                cut.drop_use(path)
            yield cut.edit()

"""Liveness: what nothing refers to any more once some nodes of a program are gone.

Decision: deletions are closed under disuse before they are proposed, so that one query removes a call, the
function that only it called and the imports that only this function read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from shrinkrepro.core.edits import Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro_strategies.blocks import DEFINITIONS, is_cheap, reached


class Liveness:
    """Uses of bindings and attributes in one program.

    ``careful`` leaves alone what may have an effect when it goes: decorated definitions, values that call
    something, attributes.
    """

    def __init__(self, program: Program, facts: Facts, *, careful: bool) -> None:
        self.program = program
        self.facts = facts
        self.careful = careful
        self.attributes: dict[str, list[Path]] = {}
        self.attribute_stores: dict[str, list[Path]] = {}
        for path, node in program.walk(ast.Attribute):
            into = self.attributes if isinstance(node.ctx, ast.Load) else self.attribute_stores
            into.setdefault(node.attr, []).append(path)

    def close(self, gone: Iterable[Path]) -> set[Path]:
        """``gone`` with all that becomes unused by it (and what was unused already)."""
        result = set(gone)
        while True:
            more = set(self._unused(result)) - result
            if not more:
                return result
            result |= more

    def _unused(self, gone: set[Path]) -> Iterator[Path]:
        scopes = self.program.scopes
        for binding, definitions in scopes.definitions.items():
            if binding.scope and isinstance(self.program.node(binding.scope), ast.ClassDef):
                continue
            uses = [u for u in scopes.uses.get(binding, ()) if not covered(u, gone)]
            for definition in definitions:
                if covered(definition, gone) or any(not inside(use, definition) for use in uses):
                    continue
                removal = self.removal(definition)
                if removal is not None:
                    yield removal
        if self.careful:
            return
        for name, stores in self.attribute_stores.items():
            if any(not covered(p, gone) for p in self.attributes.get(name, ())):
                continue
            for path in stores:
                removal = None if covered(path, gone) else self._target(path)
                if removal is not None:
                    yield removal

    def removal(self, definition: Path) -> Path | None:
        """What to delete so that the definition at ``definition`` is gone; None when it must stay."""
        node = self.program.node(definition)
        if isinstance(node, ast.alias):
            parent = self.program.parent(definition)[1]
            if isinstance(parent, ast.ImportFrom) and parent.module == "__future__":
                return None
            return definition
        if isinstance(node, DEFINITIONS):
            return None if self.careful and node.decorator_list else definition
        if isinstance(node, ast.Name):
            return self._target(definition)
        return None

    def _target(self, path: Path) -> Path | None:
        up, parent = self.program.parent(path)
        if isinstance(parent, ast.withitem):
            return path
        if isinstance(parent, ast.Assign) and len(parent.targets) > 1:
            return path
        if isinstance(parent, ast.Assign | ast.AugAssign | ast.AnnAssign):
            if self.program.enclosing(up, ast.stmt) is not None and _is_field(self.program, up):
                return None
            value = parent.value
            seen = self.facts.of((*up, "value")) is not None
            if value is None or (seen and not self.careful) or isinstance(value, ast.Constant | ast.JoinedStr):
                return up
            if is_cheap(value) and (seen or not self.facts.known or not reached(parent, self.facts)):
                return up  # one that was reached and gave no value may be what failed
        return None


def covered(path: Path, gone: set[Path]) -> bool:
    """Whether the node at ``path`` lies at or below a path of ``gone``."""
    return any(path[:i] in gone for i in range(len(path) + 1))


def inside(path: Path, root: Path) -> bool:
    """Whether ``path`` lies at or below ``root``."""
    return path[: len(root)] == root


def nested(paths: Iterable[Path]) -> bool:
    """Whether any of ``paths`` lies below another one."""
    every = set(paths)
    return any(path[:i] in every for path in every for i in range(len(path)))


def outermost(paths: Iterable[Path]) -> list[Path]:
    """``paths`` without those that lie below another one, sorted."""
    every = set(paths)
    return sorted((p for p in every if not any(p[:i] in every for i in range(len(p)))), key=str)


def _is_field(program: Program, path: Path) -> bool:
    return isinstance(program.parent(path)[1], ast.ClassDef)

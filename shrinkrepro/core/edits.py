"""Edits: proposed changes to a program, as frozen data.

Decision: a strategy only describes a change; the engine alone applies, combines and judges it. An
edit is a set of changes at node paths of one program, so several edits of one pass can be put
together without moving any path.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

# A path names a node by the fields and indices that lead to it: ("body", 3, "value", "args", 0).
Path = tuple[str | int, ...]


@dataclass(frozen=True, order=True)
class Change:
    """Replace what stands at ``path`` by ``text`` (Python source), or delete it when ``text`` is None.

    For a statement, ``text`` may be several statements or empty; for any other node it is source of the
    same category (an expression, a keyword ``a=1``, an ``arg``, an ``alias``, a ``withitem``); for an
    identifier field (``("body", 0, "name")``) it is the identifier.
    """

    path: Path
    text: str | None = None


@dataclass(frozen=True, order=True)
class Edit:
    """Changes that are made together. ``imports`` are import statements the result needs, added if missing."""

    changes: tuple[Change, ...]
    imports: tuple[str, ...] = ()


def delete(*paths: Path) -> Edit:
    """The edit that deletes the nodes at ``paths``, together."""
    return Edit(tuple(Change(path) for path in paths))


def replace(path: Path, new: str | ast.AST, imports: tuple[str, ...] = ()) -> Edit:
    """The edit that puts ``new`` (source or a node) in the place of the node at ``path``."""
    return Edit((Change(path, source_of(new)),), imports)


def join(*edits: Edit) -> Edit:
    """One edit that makes all the changes of ``edits``."""
    imports = tuple(dict.fromkeys(i for edit in edits for i in edit.imports))
    return Edit(tuple(change for edit in edits for change in edit.changes), imports)


def source_of(new: str | ast.AST | list[ast.stmt]) -> str:
    """``new`` as source text; nodes need no positions."""
    if isinstance(new, str):
        return new
    if isinstance(new, list):
        return "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in new)
    return ast.unparse(ast.fix_missing_locations(new))

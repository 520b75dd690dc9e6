"""Imports: fewer, plainer, and only for names that are used.

Decision: an import and the uses of what it binds change in one edit, so that no candidate reads a name that
nothing binds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path, delete, join, replace
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program, bound_by_import
from shrinkrepro.core.strategy import Tier, strategy


def _aliases(program: Program) -> Iterator[tuple[Path, ast.alias, ast.Import | ast.ImportFrom]]:
    for path, node in program.walk(ast.alias):
        statement = program.parent(path)[1]
        if isinstance(statement, ast.Import | ast.ImportFrom) and node.name != "*":
            yield path, node, statement


def _full_name(alias: ast.alias, statement: ast.Import | ast.ImportFrom) -> str | None:
    if isinstance(statement, ast.Import):
        return alias.name
    if statement.level or not statement.module or statement.module == "__future__":
        return None
    return f"{statement.module}.{alias.name}"


@strategy("drop-import", tier=Tier.COARSE, independent=True)
def drop_import(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete imported names that nothing uses."""
    for path in [p for p, _, _ in _aliases(program) if not program.scopes.uses_of(p)]:
        yield delete(path)


@strategy("spell-out-import", tier=Tier.FINE)
def spell_out_import(program: Program, facts: Facts) -> Iterator[Edit]:
    """Write the full path for an imported name, and drop the import.

    Example: ``from torch import nn; nn.Linear(1, 1)`` -> ``torch.nn.Linear(1, 1)``.
    """
    for path, alias, statement in _aliases(program):
        full = _full_name(alias, statement)
        binding = program.scopes.binding(path)
        if full is None or "." not in full or binding is None or len(program.scopes.definitions[binding]) > 1:
            continue
        if isinstance(statement, ast.Import) and alias.asname is None:
            continue
        uses = program.scopes.uses_of(path)
        root = full.split(".")[0]
        module, _, name = full.rpartition(".")
        # A path into a module needs the module imported, or only its package; some names are also in the package.
        spellings = [(full, root), (full, module)] if module != root else [(full, root)]
        if module != root:
            spellings.append((f"{root}.{name}", root))
        for text, needed in spellings:
            yield Edit((Change(path), *(Change(use, text) for use in uses)), (f"import {needed}",))


@strategy("shorten-path", tier=Tier.FINE)
def shorten_path(program: Program, facts: Facts) -> Iterator[Edit]:
    """Leave out an inner part of a module path: ``torch.linalg.inv`` -> ``torch.inv``, everywhere it stands."""
    modules = {bound_by_import(alias) for _, alias, _ in _aliases(program)}
    found: dict[str, list[Path]] = {}
    for path, node in program.walk(ast.Attribute):
        if isinstance(program.parent(path)[1], ast.Attribute):
            continue
        text = _chain(node)
        if text is not None and text.count(".") > 1 and text.split(".")[0] in modules:
            found.setdefault(text, []).append(path)
    for text, paths in found.items():
        root, *inner, last = text.split(".")
        for short in dict.fromkeys((f"{root}.{last}", ".".join([root, *inner[:-1], last]))):
            yield Edit(tuple(Change(path, short) for path in paths))


@strategy("import-name", tier=Tier.FINE)
def import_name(program: Program, facts: Facts) -> Iterator[Edit]:
    """Import a name from its module where its full path is written more than once.

    Example: ``torch.func.vmap`` twice -> ``from torch.func import vmap``.
    """
    modules = {
        bound_by_import(alias): alias.name.split(".")[0]
        for _, alias, statement in _aliases(program)
        if isinstance(statement, ast.Import) and alias.asname is None
    }
    taken = program.scopes.all_names()
    chains: dict[str, list[Path]] = {}
    for path, node in program.walk(ast.Attribute):
        if isinstance(program.parent(path)[1], ast.Attribute):
            continue
        text = _chain(node)
        if text is not None and text.split(".")[0] in modules and isinstance(node.ctx, ast.Load):
            chains.setdefault(text, []).append(path)
    for text, paths in chains.items():
        module, _, name = text.rpartition(".")
        if len(paths) > 1 and "." in module and name not in taken:
            yield Edit(tuple(Change(p, name) for p in paths), (f"from {module} import {name}",))


def _chain(node: ast.expr) -> str | None:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else None


@strategy("drop-alias", tier=Tier.FINE)
def drop_alias(program: Program, facts: Facts) -> Iterator[Edit]:
    """Use an imported thing under its own name: ``from m import f as g`` -> ``from m import f``."""
    taken = program.scopes.all_names()
    for path, alias, statement in _aliases(program):
        if alias.asname is None:
            continue
        if isinstance(statement, ast.Import) and "." in alias.name:
            continue
        uses = program.scopes.uses_of(path)
        if alias.name == alias.asname or alias.name not in taken:
            yield join(delete((*path, "asname")), *(replace(use, alias.name) for use in uses))


@strategy("merge-imports", tier=Tier.FINE)
def merge_imports(program: Program, facts: Facts) -> Iterator[Edit]:
    """Import from one module in one statement, and each thing once."""
    first: dict[tuple[Path, str], Path] = {}
    seen: dict[tuple[Path, str, str], Path] = {}
    for path, node in program.walk(ast.Import, ast.ImportFrom):
        block = path[:-1]
        for i, alias in enumerate(node.names):
            module = "" if isinstance(node, ast.Import) else f"{'.' * node.level}{node.module or ''}"
            what = (block, module, ast.unparse(alias))
            if what in seen:
                yield delete((*path, "names", i))
            seen[what] = path
        if isinstance(node, ast.ImportFrom):
            module = f"{'.' * node.level}{node.module or ''}"
            earlier = first.setdefault((block, module), path)
            if earlier != path:
                before = program.node(earlier)
                assert isinstance(before, ast.ImportFrom)
                names = dict.fromkeys(ast.unparse(a) for a in (*before.names, *node.names))
                yield join(replace(earlier, f"from {module} import {', '.join(names)}"), delete(path))


STRATEGIES = (drop_import, merge_imports, drop_alias, spell_out_import, shorten_path, import_name)

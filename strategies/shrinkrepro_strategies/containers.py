"""Containers: dicts, lists and tuples taken apart into the names and values that they hold.

Decision: a container goes as a whole with all its uses, or not at all, so that no candidate looks up what was
moved away.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path, delete, join, replace, source_of
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.scopes import Binding
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import filled
from shrinkrepro_strategies.descriptions import first_tensor, sources
from shrinkrepro_strategies.folding import element_of
from shrinkrepro_strategies.liveness import nested
from shrinkrepro_strategies.paired import handed_on
from shrinkrepro_strategies.rewriting import Rewrite

Key = str | int


@strategy("fold-subscript", tier=Tier.MEDIUM)
def fold_subscript(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the element for a subscript of a literal: ``(a, b)[0]`` -> ``a``, ``{'k': x}['k']`` -> ``x``."""
    for path, node in program.walk(ast.Subscript):
        if isinstance(node.ctx, ast.Load):
            element = element_of(node.value, node.slice)
            if element is not None:
                yield replace(path, source_of(element))
    for path, call in program.walk(ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id == "next" and len(call.args) == 1:
            inner = call.args[0]
            if (
                isinstance(inner, ast.Call)
                and isinstance(inner.func, ast.Name)
                and inner.func.id == "iter"
                and inner.args
            ):
                inner = inner.args[0]
            if isinstance(inner, ast.List | ast.Tuple) and inner.elts:
                yield replace(path, source_of(inner.elts[0]))


@strategy("names-for-entries", tier=Tier.MEDIUM)
def names_for_entries(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make the entries of a dict or list that is only looked up by literal keys variables, and drop the container.

    Example: ``d = {}; d['a'] = f(); g(d['a'])`` -> ``a = f(); g(a)``.
    """
    for binding, definitions in program.scopes.definitions.items():
        if len(definitions) != 1:
            continue
        up, statement = program.parent(definitions[0])
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        first = _entries(statement.value)
        accesses = _accesses(program, binding)
        if first is None or accesses is None:
            continue
        names = _names(program, [*first, *(key for _, key, _ in accesses)])
        start = [f"{names[key]} = {source_of(value)}" for key, value in first.items()]
        edits = [replace(up, "\n".join(start)) if start else delete(up)]
        for path, key, deleted in accesses:
            edits.append(replace(path, f"{names[key]} = {deleted}") if deleted else _named(path, names[key]))
        yield join(*edits)


@strategy("last-for-list", tier=Tier.MEDIUM)
def last_for_list(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make a list that is appended to, and read element by element, a variable that holds the last one.

    Example: ``out = [f]`` and ``out.append(grad(out[-1]))`` in a loop -> ``out = f`` and ``out = grad(out)``.
    """
    for binding, definitions in program.scopes.definitions.items():
        if len(definitions) != 1:
            continue
        up, statement = program.parent(definitions[0])
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.List):
            continue
        reads: list[Path] = []
        appends: list[tuple[Path, Path]] = []
        for use in program.scopes.uses.get(binding, []):
            at, node = program.parent(use)
            if isinstance(node, ast.Subscript) and use[-1] == "value" and isinstance(node.ctx, ast.Load):
                reads.append(at)
            appended = isinstance(node, ast.Attribute) and node.attr == "append" and at[-1] == "func"
            call = program.node(at[:-1]) if appended else None
            whole, expression = program.parent(at[:-1]) if call is not None else ((), None)
            if isinstance(call, ast.Call) and len(call.args) == 1 and isinstance(expression, ast.Expr):
                appends.append((whole, (*at[:-1], "args", 0)))
        if not appends or len(reads) + len(appends) < len(program.scopes.uses.get(binding, [])):
            continue
        rewrite = Rewrite(program)
        for path in reads:
            rewrite.replace(path, ast.Name(binding.name, ast.Load()))
        first = statement.value.elts
        if first:
            rewrite.replace((*up, "value"), rewrite.copy((*up, "value", "elts", len(first) - 1)))
        else:
            rewrite.delete(up)
        for whole, value in appends:
            new = rewrite.copy(value)
            assert isinstance(new, ast.expr)
            rewrite.statements(whole, [ast.Assign([ast.Name(binding.name, ast.Store())], new)])
        yield rewrite.edit()


def _named(path: Path, name: str) -> Edit:
    return Edit((Change(path, name),))


def _entries(value: ast.expr) -> dict[Key, ast.expr] | None:
    """What a container holds at first, by literal key; None when that is not plain to see."""
    if isinstance(value, ast.Dict):
        found: dict[Key, ast.expr] = {}
        for key, item in zip(value.keys, value.values):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str | int):
                return None
            found[key.value] = item
        return found
    if isinstance(value, ast.List | ast.Tuple) and not any(isinstance(e, ast.Starred) for e in value.elts):
        return dict(enumerate(value.elts))
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("dict", "list"):
        if value.args or any(k.arg is None for k in value.keywords):
            return None
        return {str(k.arg): k.value for k in value.keywords}
    return None


def _accesses(program: Program, binding: Binding) -> list[tuple[Path, Key, str]] | None:
    """Every access as (path, key, appended value or ""); None when the container is used in another way."""
    found: list[tuple[Path, Key, str]] = []
    appended = 0
    for use in program.scopes.uses.get(binding, []):
        up, node = program.parent(use)
        if isinstance(node, ast.Subscript) and use == (*up, "value") and isinstance(node.slice, ast.Constant):
            key = node.slice.value
            if not isinstance(key, str | int) or isinstance(node.ctx, ast.Del):
                return None
            found.append((up, key, ""))
            continue
        call_path = up[:-1]
        call = program.node(call_path) if isinstance(node, ast.Attribute) and up[-1:] == ("func",) else None
        if isinstance(node, ast.Attribute) and node.attr == "append" and isinstance(call, ast.Call) and call.args:
            statement_path, statement = program.parent(call_path)
            if isinstance(statement, ast.Expr):
                found.append((statement_path, appended, source_of(call.args[0])))
                appended += 1
                continue
        return None
    return found


def _names(program: Program, keys: list[Key]) -> dict[Key, str]:
    taken = program.scopes.all_names()
    spare = (letter for letter in "abcdeghkmnpqrstuvwyz" if letter not in taken)
    names: dict[Key, str] = {}
    for key in dict.fromkeys(keys):
        plain = isinstance(key, str) and key.isidentifier() and not keyword.iskeyword(key)
        if plain and key not in taken and key not in names.values():
            names[key] = str(key)
        else:
            names[key] = next((s for s in spare if s not in names.values()), f"x{len(names)}")
    return names


@strategy("leaf-for-structure", tier=Tier.MEDIUM)
def leaf_for_structure(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the first tensor in it, as a literal, for a dict, tuple or list that an argument or variable gets."""
    for path, node in program.walk(ast.expr):
        fact = facts.of(path)
        if fact is None or fact.kind not in ("seq", "dict") or isinstance(node, ast.Name) or program.size(path) < 4:
            continue
        leaf = first_tensor(fact.value)
        if leaf is not None:
            for text in sources(leaf, "torch", 1):
                yield replace(path, text, ("import torch",))


@strategy("dict-for-comprehension", tier=Tier.MEDIUM)
def dict_for_comprehension(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put ``dict(x)``, or the dict itself, for a comprehension that only makes it anew.

    Example: ``{k: v for k, v in model.named_parameters()}`` -> ``dict(model.named_parameters())``.
    """
    for path, node in program.walk(ast.DictComp):
        source = handed_on(node, ast.Tuple([node.key, node.value]))
        if source is None:
            continue
        yield replace(path, f"dict({program.text(source)})")
        method = source.func if isinstance(source, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr == "items":
            yield replace(path, program.text(method.value))


@strategy("unwrap-single-entry", tier=Tier.MEDIUM)
def unwrap_single_entry(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the entry for a dict, tuple or list that holds one, everywhere, with the subscripts that look it up.

    Example: ``f({'w': x})`` with ``p['w']`` in ``f`` -> ``f(x)`` with ``p``.
    """
    holders: dict[Key, list[tuple[Path, ast.expr]]] = {}
    for path, node in program.walk(ast.expr):
        key = _only_key(node)
        if key is not None and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            entry = node.values[0] if isinstance(node, ast.Dict) else getattr(node, "elts", [node])[0]
            holders.setdefault(key, []).append((path, entry))
    for key, found in holders.items():
        lookups = [
            (path, node.value)
            for path, node in program.walk(ast.Subscript)
            if isinstance(node.slice, ast.Constant) and node.slice.value == key and isinstance(node.ctx, ast.Load)
        ]
        changes = [Change(path, source_of(part)) for path, part in (*found, *lookups)]
        if lookups and not nested(change.path for change in changes):
            yield Edit(tuple(changes))
        for path, part in found:
            inside = [Change(at, source_of(node)) for at, node in lookups]
            if len(found) > 1 and inside and not nested([path, *(change.path for change in inside)]):
                yield Edit((Change(path, source_of(part)), *inside))


def _only_key(node: ast.expr) -> Key | None:
    if isinstance(node, ast.Dict) and len(node.keys) == 1 and isinstance(node.keys[0], ast.Constant):
        key = node.keys[0].value
        return key if isinstance(key, str | int) else None
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == 1 and not isinstance(node.elts[0], ast.Starred):
        return 0
    return None


STRATEGIES = (
    *filled.STRATEGIES,
    fold_subscript,
    names_for_entries,
    last_for_list,
    dict_for_comprehension,
    unwrap_single_entry,
    leaf_for_structure,
)

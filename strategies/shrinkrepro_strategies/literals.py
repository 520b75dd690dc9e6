"""Literals: plainer numbers, texts and data, at the same size.

Decision: literals of equal value change together first, since sizes and keys that must agree are written
alike; then each alone. A literal gets few proposals, the plainest first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

from shrinkrepro.core.edits import Change, Edit, Path, delete, replace
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.blocks import is_docstring

T = TypeVar("T", int, float, str)


def _constants(program: Program, kind: type[T]) -> Iterator[tuple[Path, T]]:
    for path, node in program.walk(ast.Constant):
        holder = program.parent(path)[1]
        if type(node.value) is kind and not is_docstring(holder) and not isinstance(holder, ast.JoinedStr):
            yield path, node.value


def _groups(found: list[tuple[Path, T]]) -> dict[T, list[Path]]:
    groups: dict[T, list[Path]] = {}
    for path, value in found:
        groups.setdefault(value, []).append(path)
    return groups


_LARGE = 1 << 20  # a number above is a limit or an address: half of it reads no better
_FAR = 1 << 40  # as an index, further away than any memory of the process


def plainer_integers(value: int) -> list[str]:
    """Integers that are plainer than ``value``, the best first."""
    choices = [1, 0, 2] if value > 2 else [0, 1]
    if 8 < value < _LARGE:
        choices += [3, value // 2]
    return [str(choice) for choice in dict.fromkeys(choices) if abs(choice) < abs(value)]


def plainer_floats(value: float) -> list[str]:
    """Numbers that are plainer than ``value``, the best first."""
    choices = ["1.0", "0.0", "2.0"]
    if value == value and abs(value) < 1e6:
        choices += [repr(float(round(value))), repr(round(value, 1)), str(int(value)) if value == int(value) else "1"]
    kept = [c for c in dict.fromkeys(choices) if len(c) < len(repr(value)) or c < repr(value)]
    return [c for c in kept if c != repr(value)][:4]


@strategy("plainer-integer", tier=Tier.POLISH)
def plainer_integer(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a smaller integer for an integer: 1, 0, 2 or half of it; equal ones together, then each alone."""
    found = list(_constants(program, int))
    yield from _changes(_groups(found), plainer_integers)


@strategy("larger-integer", tier=Tier.FINE, grows=True)
def larger_integer(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a far larger number for a large integer, all equal ones together.

    An index that lies outside of a tensor's memory by chance then does so always, and sizes can go.
    """
    for value, paths in _groups(list(_constants(program, int))).items():
        if _LARGE <= value < _FAR:
            yield Edit(tuple(Change(path, str(_FAR)) for path in paths))


@strategy("plainer-float", tier=Tier.FINE)
def plainer_float(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a plainer number for a float: 1.0, 0.0, 2.0 or a rounded one; equal ones together, then each alone."""
    found = list(_constants(program, float))
    yield from _changes(_groups(found), plainer_floats)


def _changes(groups: dict[T, list[Path]], choices: object) -> Iterator[Edit]:
    assert callable(choices)
    for value, paths in groups.items():
        for text in choices(value):
            if len(paths) > 1:
                yield Edit(tuple(Change(path, text) for path in paths))
        for path in paths:
            for text in choices(value):
                yield replace(path, text)


@strategy("plainer-text", tier=Tier.POLISH)
def plainer_text(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put an empty or a one-letter text for a text; equal ones together."""
    groups = _groups(list(_constants(program, str)))
    letters = iter(letter for letter in "abcdefgh" if letter not in groups)
    for value, paths in groups.items():
        if value:
            yield Edit(tuple(Change(path, "''") for path in paths))
            if len(paths) > 1:
                yield from (replace(path, "''") for path in paths)
        if len(value) > 1:
            letter = next(letters, None)
            if letter is not None:
                yield Edit(tuple(Change(path, repr(letter)) for path in paths))


@strategy("shorten-data", tier=Tier.MEDIUM)
def shorten_data(program: Program, facts: Facts) -> Iterator[Edit]:
    """Keep one, two or half of the elements of a long list, tuple, set or dict of literals, or of a long text."""
    for path, node in program.walk(ast.expr):
        if not isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            continue
        field, count = ("values", len(node.values)) if isinstance(node, ast.Dict) else ("elts", len(node.elts))
        if count > 4 and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            for keep in dict.fromkeys((1, 2, count // 2)):
                yield delete(*((*path, field, i) for i in range(keep, count)))
            yield delete(*((*path, field, i) for i in range(count // 2)))
    for path, text in _constants(program, str):
        if len(text) > 40:
            for size in (1, len(text) // 2):
                yield replace(path, repr(text[:size]))


@strategy("fold-text", tier=Tier.FINE, independent=True)
def fold_text(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a plain text for an f-string of literals. Example: ``f"{'a'}::b"`` -> ``"a::b"``."""
    for path, node in program.walk(ast.JoinedStr):
        if path[-1] == "format_spec":
            continue
        parts: list[str] = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) and part.conversion == -1 else part
            if not isinstance(inner, ast.Constant) or getattr(part, "format_spec", None) is not None:
                break
            parts.append(str(inner.value))
        else:
            yield replace(path, ast.Constant("".join(parts)))


STRATEGIES = (fold_text, shorten_data, plainer_integer, larger_integer, plainer_float, plainer_text)

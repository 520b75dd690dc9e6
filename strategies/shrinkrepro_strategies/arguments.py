"""Arguments: which parameter of a function gets what in a call.

Decision: a starred argument takes the positional parameters that are left, as an unpacking; what cannot be told
from the text is refused, never guessed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """A call's arguments by parameter name, and the unpacking that a starred argument needs first."""

    values: dict[str, ast.expr]
    unpacked: tuple[tuple[tuple[str, ...], ast.expr], ...] = ()


def spread(bound: Bound) -> Bound:
    """``bound`` with subscripts for unpackings, where there is no place for a statement."""
    values = dict(bound.values)
    for names, value in bound.unpacked:
        values.update({name: ast.Subscript(value, ast.Constant(k), ast.Load()) for k, name in enumerate(names)})
    return Bound(values)


def bind(call: ast.Call, arguments: ast.arguments, implicit: ast.expr | None = None) -> Bound | None:
    """What each parameter gets in ``call``; None when it cannot be told.

    ``implicit`` is the object of a method call. A starred argument takes the positional parameters that are left.
    """
    names = [a.arg for a in [*arguments.posonlyargs, *arguments.args]]
    values: dict[str, ast.expr] = {}
    unpacked: list[tuple[tuple[str, ...], ast.expr]] = []
    given = ([implicit] if implicit is not None else []) + list(call.args)
    rest: list[ast.expr] = []
    position = 0
    for i, value in enumerate(given):
        if isinstance(value, ast.Starred):
            if isinstance(value.value, ast.Tuple | ast.List):
                given[i + 1 : i + 1] = value.value.elts
                continue
            if i + 1 < len(given):
                return None
            if arguments.vararg is not None and position >= len(names):
                rest.append(value)
                continue
            keywords = {k.arg for k in call.keywords}
            required = len(names) - len(arguments.defaults)
            left = [n for n in names[position : max(required, position + 1)] if n not in keywords]
            if not left:
                return None
            unpacked.append((tuple(left), value.value))
            position = len(names)
        elif position < len(names):
            values[names[position]] = value
            position += 1
        else:
            rest.append(value)
    if rest and arguments.vararg is None:
        return None
    if arguments.vararg is not None:
        values[arguments.vararg.arg] = ast.Tuple(rest, ast.Load())
    extra: list[tuple[ast.expr | None, ast.expr]] = []
    known = {*names, *(a.arg for a in arguments.kwonlyargs)}
    for keyword in call.keywords:
        if keyword.arg in known and keyword.arg is not None:
            values[keyword.arg] = keyword.value
        elif keyword.arg is None and isinstance(keyword.value, ast.Dict):
            for key, item in zip(keyword.value.keys, keyword.value.values):
                if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                    return None
                values[key.value] = item
        elif arguments.kwarg is not None:
            extra.append((None if keyword.arg is None else ast.Constant(keyword.arg), keyword.value))
        else:
            return None
    if arguments.kwarg is not None:
        values[arguments.kwarg.arg] = ast.Dict([k for k, _ in extra], [v for _, v in extra])
    bound = {n for targets, _ in unpacked for n in targets}
    for name, default in defaults_of(arguments).items():
        if name not in values and name not in bound:
            values[name] = default
    missing = known - set(values) - bound
    return None if missing else Bound(values, tuple(unpacked))


def defaults_of(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The parameters that have a default, with it."""
    positional = [*arguments.posonlyargs, *arguments.args]
    found = {a.arg: d for a, d in zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults)}
    found.update({a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None})
    return found


def bare(arguments: ast.arguments) -> ast.arguments:
    """``arguments`` without annotations, as a lambda needs them."""

    def plain(arg: ast.arg | None) -> ast.arg | None:
        return None if arg is None else ast.arg(arg.arg)

    def all_plain(args: list[ast.arg]) -> list[ast.arg]:
        return [ast.arg(a.arg) for a in args]

    return ast.arguments(
        all_plain(arguments.posonlyargs),
        all_plain(arguments.args),
        plain(arguments.vararg),
        all_plain(arguments.kwonlyargs),
        arguments.kw_defaults,
        plain(arguments.kwarg),
        arguments.defaults,
    )

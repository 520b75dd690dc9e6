"""Divergence: where the values of a run first leave those of a run without the bug, and a check made there.

Decision: a script compares at its end what went wrong long before. The first expression whose value differs from that
of the control's run is where the bug is; what comes after it is not needed, and what it is compared with need not be
what the script compares with: the control holds the new check to the truth.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Description, Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.descriptions import exact_source
from shrinkrepro_strategies.distil import program_of
from shrinkrepro_strategies.failed import failed_checks
from shrinkrepro_strategies.frames import callers
from shrinkrepro_strategies.hoisting import Hoist
from shrinkrepro_strategies.liveness import outermost
from shrinkrepro_strategies.made import transforms_of
from shrinkrepro_strategies.provenance import Provenance
from shrinkrepro_strategies.twins import twins

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Assert)
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PLACES = 2  # expressions that a check is made of
_TOLERANCE = 1e-4  # of the largest value: what differs by less may be rounding
_NOISE = 1e-12  # what is smaller is the rounding of what should be nothing


@strategy("first-divergence", tier=Tier.COARSE, against_reference=True)
def first_divergence(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a check of the first value that the transforms get wrong for the whole program.

    It is compared with the same computed in another way: the number itself would fix all that led to it.
    Example: a training script -> ``assert_close(vmap(f)(x), torch.stack([f(v0) for v0 in x]))``.
    """
    torch, imports = calls.torch_spelling(program)
    form, live = _form(program, facts, torch), Provenance(program)
    places = [*((path, 0) for path in _first(facts, live)), *_later_turns(program, facts, live)]
    for path, turn in places if form else ():
        seen, reference = facts.items()[path], facts.reference.items()[path]
        item, _ = _first_item(seen.at(turn), reference.at(turn))
        for spelling in (0, 3, 1):  # ones, random numbers, those that were seen
            under_way = callers(program, facts, path)
            hoist = Hoist(program, facts, torch, spelling, live, under_way, given=True, turn=turn)
            text = hoist.expression(path)
            if text is None:
                continue
            actual, given = _named_inputs(text, program)
            for other in twins(actual, _makers(hoist), torch, item):
                lines = "\n".join([*given, form.format(actual + item, other)])
                yield from program_of(program, hoist, lines, imports, path)


@strategy("cut-at-divergence", tier=Tier.POLISH, against_reference=True)
def cut_at_divergence(program: Program, facts: Facts) -> Iterator[Edit]:
    """Check the first value that the transforms get wrong where it is made, against its number; drop what comes after.

    Late, because the number fixes all that led to it.
    Example: ``out = f(x)`` and a long comparison -> ``assert_close(f(x), torch.tensor(2.0))``.
    """
    torch, imports = calls.torch_spelling(program)
    form, live = _form(program, facts, torch), Provenance(program)
    for path in _first(facts, live) if form else ():
        at, statement = program.statement_of(path)
        inner = [node for up, node in program.ancestors(path) if up[: len(at)] == at]
        if not isinstance(statement, _SIMPLE) or any(isinstance(node, _SCOPES) for node in inner):
            continue
        fact = facts.items()[path]
        item, expected = _first_item(fact.value, facts.reference.items()[path].value)
        literal = exact_source(expected, torch)
        if literal is None:
            continue
        gone = [later for later in _later(program, facts, fact.order) if later != at[: len(later)]]
        text = form.format(program.text(program.node(path)) + item, literal)
        loop = program.enclosing(at, ast.For, ast.While, ast.FunctionDef)
        turns = loop is not None and not isinstance(loop[1], ast.FunctionDef)
        for lines in (text, f"{text}\nbreak") if turns else (text,):  # a run without the bug goes on
            yield Edit((Change(at, lines), *(Change(later) for later in outermost(gone))), imports)


def _form(program: Program, facts: Facts, torch: str) -> str:
    """How the new check is written: as the one that failed; empty where none did."""
    check = next(failed_checks(program, facts), None)
    if check is None:
        return ""
    if check[1].startswith("if "):
        return check[1].replace("{}", f"not {torch}.allclose({{}}, {{}})", 1)
    return f"{torch}.testing.assert_close({{}}, {{}})" if check[1] == "{}" else f"assert {torch}.allclose({{}}, {{}})"


def _first(facts: Facts, live: Provenance) -> list[Path]:
    """The first of the differing expressions that owe their value to a transform."""
    return [path for path in divergent(facts) if live.transformed(path)][:_PLACES]


def _later_turns(program: Program, facts: Facts, live: Provenance) -> list[tuple[Path, int]]:
    """Calls of a loop or function that transforms get right at first and wrong in a later turn, with that turn."""
    found: list[tuple[int, Path, int]] = []
    for path, fact in facts.items().items():
        other = facts.reference.of(path)
        if other is None or not isinstance(program.node(path), ast.Call):
            continue
        called = facts.of((*path, "func"))
        for turn in range(1 + min(len(fact.later), len(other.later))):
            if _differs(fact.at(turn), other.at(turn)):
                by_transform = called is not None and bool(transforms_of(called.at(turn)))
                if turn and (by_transform or live.transformed(path)):
                    found.append((fact.orders[turn - 1], path, turn))
                break
    return [(path, turn) for _, path, turn in sorted(found)][:_PLACES]


def _later(program: Program, facts: Facts, order: int) -> Iterator[Path]:
    """Paths of the statements of which nothing was evaluated before ``order``, but something after."""
    first: dict[Path, int] = {}
    for path, fact in facts.items().items():
        at, _ = program.statement_of(path)
        for k in range(2, len(at) + 1, 2):
            if isinstance(program.node(at[:k]), ast.stmt):
                first[at[:k]] = min(fact.order, first.get(at[:k], fact.order))
    for at, earliest in first.items():
        if earliest > order and not isinstance(program.node(at), ast.FunctionDef | ast.ClassDef):
            yield at


def _first_item(value: Description, other: Description) -> tuple[str, Description]:
    """The subscripts of the first part of a structure that differs, and what the reference has there."""
    if value.get("k") in ("seq", "dict"):
        keys = [item[0] for item in value["items"]] if value["k"] == "dict" else []
        for k, (one, two) in enumerate(zip(_items(value), _items(other))):
            if _differs(one, two):
                key = str(keys[k].get("r", k)) if keys else str(k)
                below, found = _first_item(one, two)
                return f"[{key}]{below}", found
    return "", other


def divergent(facts: Facts) -> list[Path]:
    """Paths of the expressions outside all transforms whose value differs from the reference's while no operand's
    does, in the order of evaluation."""
    differing: dict[Path, int] = {}
    for path, fact in facts.items().items():
        other = facts.reference.of(path)
        if other is not None and _differs(fact.value, other.value):
            differing[path] = fact.order
    below = {path[:k] for path in differing for k in range(1, len(path))}
    found = [path for path in differing if path not in below]
    return sorted(found, key=differing.__getitem__)


def _differs(value: Description, other: Description) -> bool:
    if value.get("k") != other.get("k"):
        return False
    kind = value.get("k")
    if kind == "tensor":
        if value.get("levels") or other.get("levels"):
            return False
        if value.get("shape") != other.get("shape") or value.get("dtype") != other.get("dtype"):
            return True
        return not _close(_numbers(value), _numbers(other))
    if kind == "const":
        one, two = _float(value.get("r")), _float(other.get("r"))
        return bool(one) and bool(two) and not _close(one, two)
    if kind in ("seq", "dict"):
        return any(_differs(a, b) for a, b in zip(_items(value), _items(other)))
    return False


def _items(value: Description) -> list[Description]:
    items = value.get("items", ())
    return [item[1] for item in items] if value.get("k") == "dict" else list(items)


def _numbers(value: Description) -> list[float]:
    found: list[float] = []
    for number in (
        value.get("values") or value.get("head") or ([value["fill"]] if value.get("fill") is not None else [])
    ):
        found += _float(number)
    return found


def _float(number: Any) -> list[float]:
    """A described number as floats: two for a complex one, none for what is no float."""
    try:
        text = number if not isinstance(number, str) else number.removeprefix('float("').removesuffix('")')
        if isinstance(number, str) and "." not in text and "e" not in text and text.lstrip("-") not in ("nan", "inf"):
            return []
        value = complex(text)
    except (TypeError, ValueError):
        return []
    return [value.real, value.imag] if value.imag else [value.real]


def _close(one: list[float], other: list[float]) -> bool:
    if len(one) != len(other):
        return False
    scale = max((abs(v) for v in (*one, *other) if math.isfinite(v)), default=0.0)
    for a, b in zip(one, other):
        if math.isfinite(a) and math.isfinite(b):
            if abs(a - b) > max(_TOLERANCE * scale, _NOISE):
                return False
        elif a != b and not (math.isnan(a) and math.isnan(b)):
            return False
    return True


def _named_inputs(text: str, program: Program) -> tuple[str, list[str]]:
    """``text`` with names for the tensors that the call is given, and the lines that bind them."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call):
        return text, []
    taken = program.scopes.all_names()
    free = (name for name in itertools.chain("xtyz", (f"x{k}" for k in itertools.count())) if name not in taken)
    names: dict[str, str] = {}
    for block in (node.args, *(a.elts for a in node.args if isinstance(a, ast.Tuple | ast.List))):
        for k, argument in enumerate(block):
            if isinstance(argument, ast.Call | ast.Dict):
                made = ast.unparse(argument)
                names[made] = names.get(made) or next(free)
                block[k] = ast.Name(names[made], ast.Load())
    lines = [f"{name} = {made}" for made, name in names.items()]
    return ast.unparse(ast.fix_missing_locations(node)), lines


def _makers(hoist: Hoist) -> Mapping[str, str]:
    """What names of the new program stand for, where an assignment says it."""
    found: dict[str, str] = {}
    kept = [text or hoist.program.text(hoist.program.node(path)) for path, text in hoist.kept.items()]
    for line in [*kept, *hoist.lines]:
        try:
            body = ast.parse(line).body
        except SyntaxError:
            continue
        for statement in body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                found[statement.targets[0].id] = ast.unparse(statement.value)
    return found


STRATEGIES = (first_divergence, cut_at_divergence)

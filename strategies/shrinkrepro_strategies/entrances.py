"""Entrances: where the computation that a transform sees begins.

Decision: what a transformed function does first is not the bug; the value that it has made by then is a fact, whatever
made it. So the function takes that value for its input, and all that led from the old input to it goes.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterator, Mapping
from typing import Any

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Description, Facts
from shrinkrepro.core.program import Program, parse_expression
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.descriptions import exact_tensor, sources
from shrinkrepro_strategies.failed import failed_checks
from shrinkrepro_strategies.liveness import covered
from shrinkrepro_strategies.sites import Site, sites_of
from shrinkrepro_strategies.slices import Slicer
from shrinkrepro_strategies.twins import twins
from shrinkrepro_strategies.values import is_constructor

_PLACES = 4  # expressions of one parameter that the computation may start from
_ROUNDING = 1e-4  # numbers this near to a whole one are written as that


@strategy("later-input", tier=Tier.MEDIUM)
def later_input(program: Program, facts: Facts) -> Iterator[Edit]:
    """Give a transformed function what it makes of its input for the input: the computation starts later.

    Where a check compares with a literal, that becomes zeros of the new shape, or the same computed otherwise.
    Example: ``grad(lambda x: torch.sqrt((x * w).sum()))(torch.ones(3))`` -> ``grad(lambda x: torch.sqrt(x))(
    torch.tensor(0.0))``.
    """
    slicer = Slicer(program)
    torch, imports = calls.torch_spelling(program)
    for function, sites in sites_of(program, facts).items():
        if not sites.complete or not any(site.transformed for site in sites.found):
            continue
        node = program.node(function)
        assert isinstance(node, ast.FunctionDef | ast.Lambda)
        names = [("posonlyargs", k) for k in range(len(node.args.posonlyargs))]
        names += [("args", k) for k in range(len(node.args.args))]
        for index, name in enumerate(names):
            given = _given(program, facts, sites.found, index)
            uses = program.scopes.uses_of((*function, "args", *name))
            before = next((fact for fact in map(facts.of, uses) if fact is not None), None)
            if not given or before is None or before.kind != "tensor":
                continue
            parameter = program.node((*function, "args", *name))
            assert isinstance(parameter, ast.arg)
            for places in _starts(program, facts, slicer, function, uses):
                fact = facts.of(places[0])
                assert fact is not None
                inner = [Change(place, parameter.arg) for place in places]
                for texts in _inputs(fact.value, before.value, given, torch):
                    changes = [*inner, *(Change(at, text) for at, text in texts.items())]
                    yield Edit(slicer.with_dead(*changes), imports)
                    for check in _checks(program, facts, sites.found, changes, (before.shape, fact.shape), torch):
                        yield Edit(slicer.with_dead(*changes, check), imports)


def _given(program: Program, facts: Facts, sites: list[Site], index: int) -> dict[Path, Description]:
    """Where the parameter's arguments are written, with the tensors seen there; empty where one is out of reach."""
    found: dict[Path, Description] = {}
    for site in sites:
        call = program.node(site.call)
        assert isinstance(call, ast.Call)
        position = index - site.hidden
        places: list[Path] = []
        if site.first is not None and 0 <= position < len(call.args) - site.first:
            places = [(*site.call, "args", site.first + position)]
        elif site.first is None:
            places = [(*at, "elts", position) for at in site.tuples if _has(program.node(at), position)]
        for place in places:
            fact = facts.of(place)
            if fact is None or fact.kind != "tensor":
                return {}
            found[place] = fact.value
        if not places:
            return {}
    return found


def _has(node: ast.AST, position: int) -> bool:
    return isinstance(node, ast.Tuple | ast.List) and 0 <= position < len(node.elts)


def _starts(program: Program, facts: Facts, slicer: Slicer, function: Path, uses: list[Path]) -> Iterator[list[Path]]:
    """Places of an expression after which nothing reads the parameter any more, latest evaluated first."""
    found: dict[str, list[Path]] = {}
    order: dict[str, int] = {}
    for path, node in program.walk(ast.Call, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Attribute):
        fact = facts.of(path)
        if path[: len(function)] != function or fact is None or fact.kind != "tensor":
            continue
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or is_constructor(program, path):
            continue
        text = program.text(node)
        found.setdefault(text, []).append(path)
        order[text] = max(order.get(text, 0), fact.order)
    kept = 0
    for text in sorted(found, key=lambda text: -order[text]):
        places = found[text]
        gone = {change.path for change in slicer.with_dead(*(Change(place, "0") for place in places))}
        if _is_result(program, function, places[0]) or not all(covered(use, gone) for use in uses):
            continue
        yield places
        kept += 1
        if kept == _PLACES:
            return


def _is_result(program: Program, function: Path, path: Path) -> bool:
    """Whether the function gives back just what stands at ``path``: nothing would be left of it."""
    return path == (*function, "body") or isinstance(program.parent(path)[1], ast.Return)


def _inputs(
    value: Description, before: Description, given: Mapping[Path, Description], torch: str
) -> Iterator[dict[Path, str]]:
    """Texts for all arguments: tensors with the numbers that were seen, then plainer ones."""
    spelled: dict[Path, list[str]] = {}
    for path, outside in given.items():
        shape, inside = list(outside["shape"]), list(before["shape"])
        if shape[len(shape) - len(inside) :] != inside:
            return
        mapped = shape[: len(shape) - len(inside)]  # dimensions that the transforms take
        described = {**value, "levels": 0, "grad": outside.get("grad"), "shape": mapped + list(value["shape"])}
        if mapped and math.prod(mapped) != 1:
            described["values"] = None
        elif described.get("values") is not None:
            described["values"] = [_whole(number) for number in described["values"]]
        exact = exact_tensor(described, torch) if described["shape"] else None
        spelled[path] = list(dict.fromkeys([*([exact] if exact else []), *sources(described, torch, 3)]))
    for k in range(min((len(texts) for texts in spelled.values()), default=0)):
        yield {path: texts[k] for path, texts in spelled.items()}


def _whole(number: object) -> object:
    if isinstance(number, float) and math.isfinite(number) and abs(number - round(number)) < _ROUNDING:
        return float(round(number))
    return number


def _checks(
    program: Program,
    facts: Facts,
    sites: list[Site],
    changes: list[Change],
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    torch: str,
) -> Iterator[Change]:
    """What else may change: the literal that a failed check compares the result with."""
    for check, _ in failed_checks(program, facts):
        for actual, expected in _sides(program.node(check), check):
            if not any(covered(site.call, {actual}) for site in sites) or not is_constructor(program, expected):
                continue
            fact = facts.of(expected)
            if fact is not None and fact.kind == "tensor" and shapes[0]:
                size = _resized(fact.shape, *shapes)
                text = f"{torch}.zeros({', '.join(map(str, size))})" if size else f"{torch}.tensor(0.0)"
                if text != program.text(program.node(expected)):
                    yield Change(expected, text)
            for other in twins(_changed(program, actual, changes), {}, torch):
                yield Change(expected, other)


def _resized(shape: tuple[int, ...], old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """``shape`` of a derivative with ``new`` for each ``old`` that it ends with."""
    ends: tuple[int, ...] = ()
    while shape and shape[-len(old) :] == old:
        shape, ends = shape[: -len(old)], ends + new
    return shape + ends


def _changed(program: Program, path: Path, changes: list[Change]) -> str:
    """The text of the expression at ``path`` after what of ``changes`` lies in it."""
    before = copy.deepcopy(program.node(path))
    assert isinstance(before, ast.expr)
    root = ast.Expression(before)
    for change in changes:
        if change.text is None or not covered(change.path, {path}):
            continue
        *above, last = ("body", *change.path[len(path) :])
        holder: Any = root
        for step in above:
            holder = holder[step] if isinstance(step, int) else getattr(holder, step)
        new = parse_expression(change.text)
        if isinstance(last, int):
            holder[last] = new
        else:
            setattr(holder, last, new)
    return ast.unparse(ast.fix_missing_locations(root))


def _sides(node: ast.AST, path: Path) -> Iterator[tuple[Path, Path]]:
    """The two expressions that a check compares, either way round."""
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        one, two = (*path, "args", 0), (*path, "args", 1)
    elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
        one, two = (*path, "left"), (*path, "comparators", 0)
    else:
        return
    yield one, two
    yield two, one


STRATEGIES = (later_input,)

"""Call sites: where the arguments of a function of the program are written, through transforms too.

Decision: ``vmap(grad(f), (0, None))(x, y)`` is a call of f with x and y, and ``jvp(f, (x,), (v,))`` one with x. A
function that is also used in a way that is not understood has incomplete sites, and its parameters stay.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from shrinkrepro.core.edits import Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro_strategies.callees import Callee, callee_of, class_called, classes, function_at
from shrinkrepro_strategies.calls import MAKERS, functional_name, library_name, transform_name
from shrinkrepro_strategies.rewriting import Rewrite


@dataclass(frozen=True)
class Site:
    """One place that gives a function its arguments.

    Positional arguments are ``call.args[first:]`` (unless ``first`` is None) and the elements of each of
    ``tuples``; ``numbers`` are the paths of argument numbers. ``hidden`` first parameters are not written.
    ``result`` is the expression whose value is what the function returns, when there is one. ``transformed`` when
    a transform stands between.
    """

    call: Path
    first: int | None
    hidden: int = 0
    tuples: tuple[Path, ...] = ()
    numbers: tuple[Path, ...] = ()
    result: Path | None = None
    transformed: bool = False


@dataclass
class Sites:
    """The sites of one function; ``complete`` when every use of it is one of them."""

    found: list[Site] = field(default_factory=list)
    complete: bool = True


def sites_of(program: Program, facts: Facts) -> dict[Path, Sites]:
    """The sites of every function of the program, by the path of its def or lambda."""
    table: dict[Path, Sites] = {}
    known = classes(program)
    called: set[Path] = set()
    for path, call in program.walk(ast.Call):
        callee = callee_of(program, facts, path)
        if callee is not None:
            called.add((*path, "func"))
            table.setdefault(callee.path, Sites()).found.append(
                Site(path, 0, 1 if callee.implicit is not None else 0, result=path)
            )
        constructed = _constructor(program, facts, path, call)
        if constructed is not None:
            table.setdefault(constructed, Sites()).found.append(Site(path, 0, 1))
    for path, node in program.walk(ast.expr):
        if not isinstance(node, ast.Name | ast.Attribute | ast.Lambda) or path in called:
            continue
        if not isinstance(node, ast.Lambda) and not isinstance(node.ctx, ast.Load):
            continue
        if isinstance(node, ast.Attribute) and isinstance(program.parent(path)[1], ast.Attribute):
            continue
        callee = function_at(program, facts, path)
        if callee is None or path[: len(callee.path)] == callee.path != path:
            continue
        if isinstance(node, ast.Name) and callee.implicit is not None and known.nodes and callee.implicit is node:
            # A callable object as a value: it may be called anywhere.
            table.setdefault(callee.path, Sites()).complete = False
            continue
        _climb(program, facts, path, callee, table.setdefault(callee.path, Sites()))
    return table


def _constructor(program: Program, facts: Facts, path: Path, node: ast.Call) -> Path | None:
    owner = class_called(program, facts, path)
    return classes(program).methods(owner).get("__init__") if owner is not None else None


def _climb(program: Program, facts: Facts, path: Path, callee: Callee, into: Sites) -> None:
    """Follow the function at ``path`` through the transforms around it to the call that gives the arguments."""
    hidden = 1 if callee.implicit is not None else 0
    tuples: list[Path] = []
    numbers: list[Path] = []
    plain = True
    while True:
        up, parent = program.parent(path)
        if isinstance(parent, ast.Assign) and path == (*up, "value") and isinstance(callee.node, ast.Lambda):
            return
        if not isinstance(parent, ast.Call):
            into.complete = False
            return
        if path == (*up, "func"):
            into.found.append(Site(up, 0, hidden, tuple(tuples), tuple(numbers), up if plain else None, True))
            return
        if path != (*up, "args", 0):
            into.complete = False
            return
        full = library_name(program, (*up, "func"))
        name = transform_name(full) or ("compile" if full == "torch.compile" else None)
        if name in ("jvp", "linearize", "vjp"):
            if name == "jvp" and len(parent.args) >= 3:
                tuples += [(*up, "args", 1), (*up, "args", 2)]
                into.found.append(Site(up, None, hidden, tuple(tuples), tuple(numbers), None, True))
            elif name != "jvp":
                into.found.append(Site(up, 1, hidden, tuple(tuples), tuple(numbers), None, True))
            else:
                into.complete = False
            return
        if functional_name(full) in ("jacobian", "hessian") and len(parent.args) == 2:
            if isinstance(parent.args[1], ast.Tuple | ast.List):
                into.found.append(Site(up, None, hidden, (*tuples, (*up, "args", 1)), tuple(numbers), None, True))
            else:
                into.found.append(Site(up, 1, hidden, tuple(tuples), tuple(numbers), None, True))
            return
        if name not in MAKERS and name != "compile":
            into.complete = False
            return
        plain = plain and name in ("vmap", "compile") and not any(k.arg == "out_dims" for k in parent.keywords)
        for i, keyword in enumerate(parent.keywords):
            if keyword.arg == "in_dims":
                tuples.append((*up, "keywords", i, "value"))
            elif keyword.arg == "argnums":
                numbers.append((*up, "keywords", i, "value"))
        if len(parent.args) > 1:
            (tuples if name == "vmap" else numbers).append((*up, "args", 1))
        path = up


def drop_argument(program: Program, rewrite: Rewrite, site: Site, index: int, name: str) -> bool:
    """Delete what ``site`` gives to the parameter ``name``, the one at ``index``; False when that can't be told."""
    call = program.node(site.call)
    assert isinstance(call, ast.Call)
    position = index - site.hidden
    if position < 0 or (site.transformed and _given(program, site, call) < 2):
        return False  # a transform of a function of nothing is no program that a reader expects
    for at in site.tuples:
        node = program.node(at)
        if isinstance(node, ast.Tuple | ast.List):
            if any(isinstance(e, ast.Starred) for e in node.elts) or position >= len(node.elts):
                return False
            rewrite.delete((*at, "elts", position))
        elif not isinstance(node, ast.Constant):
            return False
    for at in site.numbers:
        node = program.node(at)
        if not isinstance(node, ast.Constant) or not isinstance(node.value, int):
            return False
        if node.value > position:
            rewrite.replace(at, ast.Constant(node.value - 1))
    if site.first is None:
        return True
    given = site.first + position
    if any(isinstance(a, ast.Starred) for a in call.args[: given + 1]) or any(k.arg is None for k in call.keywords):
        return False
    if given < len(call.args):
        rewrite.delete((*site.call, "args", given))
        return True
    for i, keyword in enumerate(call.keywords):
        if keyword.arg == name:
            rewrite.delete((*site.call, "keywords", i))
    return True


def _given(program: Program, site: Site, call: ast.Call) -> int:
    """How many arguments the transformed function gets at ``site``."""
    if site.first is not None:
        return len(call.args) - site.first + len(call.keywords)
    first = program.node(site.tuples[0])
    return len(first.elts) if isinstance(first, ast.Tuple | ast.List) else 2


def argument_at(program: Program, site: Site, index: int, name: str) -> Path | None:
    """The path of what ``site`` gives to the parameter, None when it gives nothing (or it can't be told)."""
    call = program.node(site.call)
    assert isinstance(call, ast.Call)
    if site.first is None or site.tuples or index < site.hidden:
        return None
    given = site.first + index - site.hidden
    if any(isinstance(a, ast.Starred) for a in call.args[: given + 1]):
        return None
    if given < len(call.args):
        return (*site.call, "args", given)
    for i, keyword in enumerate(call.keywords):
        if keyword.arg == name:
            return (*site.call, "keywords", i, "value")
    return None

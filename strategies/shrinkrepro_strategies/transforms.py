"""Transforms: fewer of them, smaller ones, and plainer arguments.

Decision: a transform goes together with what it needs from its neighbours (its in_dims, its second call, its
import), so that each edit is a program that a person could have written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shrinkrepro.core.edits import Change, Edit, Path, replace
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls, made, transformed
from shrinkrepro_strategies.slices import Slicer

# What may stand in the place of a transform: the same call form, a smaller transform.
_SMALLER = {
    "hessian": ("grad", "jacfwd", "jacrev"),
    "jacrev": ("grad",),
    "grad_and_value": ("grad",),
    "jacfwd": (),
}
_DEFAULTS = frozenset({"in_dims", "out_dims", "argnums", "has_aux", "chunk_size", "randomness", "strict", "remove"})


@strategy("drop-transform", tier=Tier.MEDIUM)
def drop_transform(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the function for its transform: one of a composition goes.

    ``vmap(grad(f))`` -> ``grad(f)`` or ``vmap(f)``; ``jvp(f, (x,), (v,))`` and ``vjp(f, x)`` -> ``f(x)``;
    ``@vmap`` goes as a decorator.
    """
    slicer = Slicer(program)
    for path, node, name in calls.transform_calls(program):
        if "decorator_list" in path:
            continue
        arguments = calls.positional(node)
        if not arguments:
            continue
        function = _callable_text(arguments[0])
        if name in calls.MAKERS:
            yield Edit(slicer.with_dead(Change(path, program.text(arguments[0]))))
        elif name == "jvp" and len(arguments) > 1 and isinstance(arguments[1], ast.Tuple):
            inputs = ", ".join(map(program.text, arguments[1].elts))
            yield Edit(slicer.with_dead(Change(path, f"{function}({inputs})")))
        elif name in ("vjp", "linearize"):
            inputs = ", ".join(map(program.text, arguments[1:]))
            yield Edit(slicer.with_dead(Change(path, f"{function}({inputs})")))
    for path, definition in program.walk(ast.FunctionDef):
        for i, decorator in enumerate(definition.decorator_list):
            at: Path = (*path, "decorator_list", i)
            target = (*at, "func") if isinstance(decorator, ast.Call) else at
            if calls.transform_name(calls.library_name(program, target)) is not None:
                yield Edit((Change(at),))


@strategy("smaller-transform", tier=Tier.MEDIUM)
def smaller_transform(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a smaller transform for a larger one: ``hessian`` -> ``grad``, ``jacrev(f)(x)`` -> ``vjp(f, x)``.

    ``jvp(f, (x,), (v,))`` -> ``vjp(f, x)`` where the failure needs either.
    """
    for path, node in program.walk(ast.Name, ast.Attribute):
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        name = calls.transform_name(calls.library_name(program, path))
        for smaller in _SMALLER.get(name or "", ()):
            changes, imports = calls.respell(program, path, smaller)
            yield Edit(changes, imports)
    for path, inner, name in _called_at_once(program):
        arguments = calls.positional(inner)
        outer = program.node(path)
        assert isinstance(outer, ast.Call)
        if name not in ("jacrev", "grad") or not arguments or len(arguments) != 1 or inner.keywords or outer.keywords:
            continue
        if len(outer.args) != 1:
            continue
        yield _pulled_back(program, path, (*path, "func", "func"), [*arguments, *outer.args])
    for path, call, name in calls.transform_calls(program):
        arguments = calls.positional(call)
        if name != "jvp" or arguments is None or len(arguments) != 3 or call.keywords:
            continue
        primals = arguments[1]
        if isinstance(primals, ast.Tuple) and primals.elts:
            yield _pulled_back(program, path, (*path, "func"), [arguments[0], *primals.elts])


def _pulled_back(program: Program, path: Path, name: Path, arguments: Sequence[ast.expr]) -> Edit:
    """The call at ``path`` of the transform at ``name`` -> ``vjp`` of ``arguments``."""
    changes, imports = calls.respell(program, name, "vjp")
    spelled = next(c.text for c in changes if c.path[: len(path)] == path)
    node = program.node(name)
    if changes[0].path[-1] == "attr":
        assert isinstance(node, ast.Attribute)
        spelled = f"{program.text(node.value)}.vjp"
    given = ", ".join(program.text(argument) for argument in arguments)
    rest = tuple(c for c in changes if c.path[: len(path)] != path)
    return Edit((Change(path, f"{spelled}({given})"), *rest), imports)


@strategy("simplify-products", tier=Tier.FINE)
def simplify_products(program: Program, facts: Facts) -> Iterator[Edit]:
    """Simplify what jvp and vjp are given and what is done with what they give.

    The tangents become the primals; ``vjp(f, x)[1](v)`` -> ``vjp(f, x)``; an input goes with its tangent.
    """
    slicer = Slicer(program)
    for path, node, name in calls.transform_calls(program):
        arguments = calls.positional(node)
        if arguments is None:
            continue
        if name == "jvp" and len(arguments) == 3 and program.text(arguments[1]) != program.text(arguments[2]):
            yield Edit(slicer.with_dead(Change((*path, "args", 2), program.text(arguments[1]))))
            yield Edit(slicer.with_dead(Change((*path, "args", 1), program.text(arguments[2]))))
        if name in ("vjp", "jvp", "linearize"):
            yield from _uses_dropped(program, slicer, path)


def _uses_dropped(program: Program, slicer: Slicer, path: Path) -> Iterator[Edit]:
    """``T(..)[1](v)`` -> ``T(..)``; ``_, pull = T(..)`` with the statements that use the names -> ``T(..)``."""
    text = program.text(program.node(path))
    top = path
    while top:
        up, parent = program.parent(top)
        if not (isinstance(parent, ast.Subscript) and top[-1] == "value") and not (
            isinstance(parent, ast.Call) and top[-1] == "func"
        ):
            break
        top = up
        yield Edit(slicer.with_dead(Change(top, text)))
    at, statement = program.statement_of(path)
    if isinstance(statement, ast.Assign) and top == (*at, "value"):
        yield Edit((Change(at, text),))
    if isinstance(statement, ast.Return) and top == (*at, "value") and top != path:
        yield Edit((Change(top, text),))


@strategy("default-transform-arguments", tier=Tier.MEDIUM, independent=True)
def default_transform_arguments(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop in_dims, out_dims, argnums, has_aux, chunk_size, randomness of a transform."""
    for path, node, name in calls.transform_calls(program):
        for i, word in enumerate(node.keywords):
            if word.arg in _DEFAULTS:
                yield Edit((Change((*path, "keywords", i)),))
        if name in ("vmap", "grad", "jacrev", "jacfwd", "hessian", "grad_and_value"):
            for i in range(1, len(node.args)):
                yield Edit((Change((*path, "args", i)),))


@strategy("drop-transformed-argument", tier=Tier.MEDIUM)
def drop_transformed_argument(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop an argument of a transformed function together with its parameter, in_dims, argnums and tangent.

    The parameter's uses become the argument itself (a constant of the function) where that can be read there.
    Example: ``vmap(lambda x, w: x @ w, in_dims=(0, None))(x, w)`` -> ``vmap(lambda x: x @ w)(x)``.
    """
    for path, node, name in calls.transform_calls(program):
        if name in ("vjp", "jvp", "linearize"):
            yield from _drop_input(program, path, node, name)
    for path, _inner, _name in _called_at_once(program):
        outer = program.node(path)
        assert isinstance(outer, ast.Call)
        given = calls.positional(outer)
        chain = _chain(program, (*path, "func"))
        if given is None or len(given) < 2 or outer.keywords:
            continue
        for i, argument in enumerate(given):
            changes = [Change((*path, "args", i))]
            for at, link, kind in chain:
                changes.extend(_index_dropped(at, link, kind, i, len(given)))
            function = (*chain[-1][0], "args", 0)
            dropped = _parameter_dropped(program, function, i, program.text(argument), path)
            if dropped is not None:
                yield Edit((*changes, *dropped))


def _drop_input(program: Program, path: Path, node: ast.Call, name: str) -> Iterator[Edit]:
    arguments = calls.positional(node)
    if arguments is None:
        return
    if name == "jvp":
        if len(arguments) < 3 or not all(isinstance(a, ast.Tuple) for a in arguments[1:3]):
            return
        primals = arguments[1]
        assert isinstance(primals, ast.Tuple)
        given = primals.elts
    else:
        given = arguments[1:]
    if len(given) < 2:
        return
    for i, argument in enumerate(given):
        dropped = _parameter_dropped(program, (*path, "args", 0), i, program.text(argument), path)
        if dropped is None:
            continue
        if name == "jvp":
            yield Edit((Change((*path, "args", 1, "elts", i)), Change((*path, "args", 2, "elts", i)), *dropped))
        else:
            yield Edit((Change((*path, "args", i + 1)), *dropped))


def _index_dropped(path: Path, node: ast.Call, name: str, index: int, count: int) -> list[Change]:
    """What dropping argument ``index`` means for the transform's own arguments."""
    changes: list[Change] = []
    for word in ("in_dims", "argnums"):
        found = calls.keyword(node, word)
        place: Path
        if found is not None:
            place, value = (*path, "keywords", found[0], "value"), found[1]
            whole: Path = (*path, "keywords", found[0])
        elif len(node.args) > 1 and (word == "in_dims") == (name == "vmap"):
            place, value = (*path, "args", 1), node.args[1]
            whole = place
        else:
            continue
        if word == "in_dims" and isinstance(value, ast.Tuple) and len(value.elts) == count:
            rest = [ast.unparse(e) for k, e in enumerate(value.elts) if k != index]
            if all(r == "0" for r in rest):
                changes.append(Change(whole))
            else:
                changes.append(Change((*place, "elts", index)))
        elif word == "argnums":
            numbers = _numbers(value)
            if numbers is None:
                continue
            left = [n - (n > index) for n in numbers if n != index]
            if not left or left == [0]:
                changes.append(Change(whole))
            else:
                changes.append(Change(place, str(left[0]) if isinstance(value, ast.Constant) else str(tuple(left))))
    return changes


def _numbers(value: ast.expr) -> list[int] | None:
    elements = value.elts if isinstance(value, ast.Tuple) else [value]
    numbers = [e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, int)]
    return numbers if len(numbers) == len(elements) else None


def _parameter_dropped(program: Program, function: Path, index: int, text: str, at: Path) -> list[Change] | None:
    """The changes that take parameter ``index`` from the function at ``function``; None when it is out of reach."""
    node = program.node(function)
    definition: Path | None = function if isinstance(node, ast.Lambda) else None
    if isinstance(node, ast.Name):
        binding = program.scopes.binding(function)
        places = program.scopes.definitions.get(binding, []) if binding is not None else []
        if binding is not None and len(places) == 1 and program.scopes.uses.get(binding, []) == [function]:
            definition = places[0]
    if definition is None:
        return None
    target = program.node(definition)
    if not isinstance(target, ast.Lambda | ast.FunctionDef):
        return None
    parameters = [("posonlyargs", k) for k in range(len(target.args.posonlyargs))]
    parameters += [("args", k) for k in range(len(target.args.args))]
    if index >= len(parameters):
        return None
    place: Path = (*definition, "args", *parameters[index])
    if text.isidentifier() and program.scopes.lookup(definition[:-2] or (), text) != program.scopes.lookup(at, text):
        return None
    changes = [Change(place)]
    parameter = program.node(place)
    assert isinstance(parameter, ast.arg)
    if parameter.arg != text:
        changes.extend(Change(use, text) for use in program.scopes.uses_of(place))
    return changes


def _called_at_once(program: Program) -> Iterator[tuple[Path, ast.Call, str]]:
    """``T(f)(x)``: path of the outer call, the inner call and the transform's name."""
    for path, node in program.walk(ast.Call):
        if isinstance(node.func, ast.Call):
            name = calls.transform_name(calls.callee(program, (*path, "func")))
            if name in calls.MAKERS and node.func.args:
                yield path, node.func, str(name)


def _chain(program: Program, path: Path) -> list[tuple[Path, ast.Call, str]]:
    """The transforms from ``path`` inwards: ``vmap(grad(f))`` is two."""
    found: list[tuple[Path, ast.Call, str]] = []
    node = program.node(path)
    while isinstance(node, ast.Call) and node.args:
        name = calls.transform_name(calls.callee(program, path))
        if name is None:
            break
        found.append((path, node, name))
        path = (*path, "args", 0)
        node = program.node(path)
    return found


def _callable_text(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.Lambda) else text


@strategy("smaller-functional", tier=Tier.MEDIUM)
def smaller_functional(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a smaller product of torch.autograd.functional for a larger one, and drop its options."""
    smaller = {"hessian": ("jacobian",), "hvp": ("jacobian",), "vhp": ("jacobian",), "jvp": ("jacobian",)}
    for path, node in program.walk(ast.Call):
        name = calls.functional_name(calls.callee(program, path))
        if name is None:
            continue
        for i in range(len(node.keywords)):
            yield Edit((Change((*path, "keywords", i)),))
        for other in smaller.get(name, ()):
            func = node.func
            base = f"{program.text(func.value)}." if isinstance(func, ast.Attribute) else "torch.autograd.functional."
            inputs = ", ".join(map(program.text, node.args[:2]))
            yield replace(
                path, f"{base}{other}({inputs})", () if isinstance(func, ast.Attribute) else ("import torch",)
            )


STRATEGIES = (
    *made.STRATEGIES,
    *transformed.STRATEGIES,
    drop_transform,
    smaller_transform,
    default_transform_arguments,
    drop_transformed_argument,
    simplify_products,
    smaller_functional,
)

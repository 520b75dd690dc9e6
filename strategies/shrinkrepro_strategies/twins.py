"""Twins: other ways to compute what a transformed call computes, as a reader would write them.

Decision: several for each transform, plainest first, from the text of the call alone; which of them is right where the
call is wrong is for a query and its control to find out.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping

from shrinkrepro.core.program import last_name, parse_expression
from shrinkrepro_strategies.blocks import with_values
from shrinkrepro_strategies.calls import TRANSFORMS, mapped_dims, options_of

_OTHER_MODE = {"jacfwd": "jacrev", "jacrev": "jacfwd", "grad": "jacfwd"}


def twins(text: str, makers: Mapping[str, str], torch: str, item: str = "") -> Iterator[str]:
    """Texts that compute what the call ``text`` does in other ways; with ``item``, subscripts, that part of it.

    ``makers`` has the texts of what names stand for.
    """
    node = parse_expression(text)
    if not isinstance(node, ast.Call):
        return
    seen = {text}
    for other in _of_call(node, makers, torch, item):
        found = ast.unparse(ast.fix_missing_locations(other))
        if found not in seen:
            seen.add(found)
            yield found


def _of_call(call: ast.Call, makers: Mapping[str, str], torch: str, item: str) -> Iterator[ast.expr]:
    name = last_name(call.func)
    if name in ("jvp", "vjp") and len(call.args) >= 2:
        functional = parse_expression(f"{torch}.autograd.functional.{name}")
        given = call.args[1:] if name == "jvp" else []
        if given:
            yield _part(ast.Call(functional, [call.args[0], *given], []), item)
        return
    made = _made(call.func, makers)
    if made is None or call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
        return
    if last_name(made.func) == "vmap":
        yield from _of_vmap(made, call.args, makers, torch, item)
    else:
        for other in _of_made(made, call.args, makers, torch):
            yield _part(other, item)


def _of_vmap(
    made: ast.Call, args: list[ast.expr], makers: Mapping[str, str], torch: str, item: str = ""
) -> Iterator[ast.expr]:
    options = options_of(made, "vmap")
    names: list[ast.expr] = [ast.Name(f"v{k}", ast.Load()) for k in range(len(args))]
    inner = _made(made.args[0], makers)
    bodies = [_applied(made.args[0], names), *(_of_made(inner, names, makers, torch) if inner is not None else ())]
    for body in bodies:
        yield from _looped(_part(body, item), args, options, torch)


def _of_made(made: ast.Call, args: list[ast.expr], makers: Mapping[str, str], torch: str) -> Iterator[ast.expr]:
    name, function = last_name(made.func), made.args[0]
    options = options_of(made, name)
    if name == "compile":
        yield _applied(function, args)
        inner = _made(function, makers)
        if inner is not None:
            yield from _of_made(inner, args, makers, torch)
    elif name == "vmap":
        yield from _of_vmap(made, args, makers, torch)
    elif name in ("jacfwd", "jacrev", "grad"):
        if not options and len(args) == 1:
            yield _applied(parse_expression(f"{torch}.autograd.functional.jacobian"), [function, *args])
        if "has_aux" not in options:
            yield ast.Call(_respelled(made, _OTHER_MODE[name], torch), list(args), [])
    elif name == "hessian" and not options and len(args) == 1:
        yield _applied(parse_expression(f"{torch}.autograd.functional.hessian"), [function, *args])
        for mode in ("jacrev", "jacfwd"):
            once = _respelled(made, mode, torch)
            twice = copy.deepcopy(once)
            twice.args[0] = once
            yield ast.Call(twice, list(args), [])


def _looped(
    body: ast.expr, args: list[ast.expr], options: Mapping[str | None, ast.expr], torch: str
) -> Iterator[ast.expr]:
    """``body``, which reads ``v0``, ``v1``, ..., for each sample of ``args``, stacked."""
    dims = mapped_dims(options, len(args))
    out = options.get("out_dims")
    if dims is None:
        return
    fixed = {f"v{k}": arg for k, (arg, dim) in enumerate(zip(args, dims)) if dim is None}
    body = with_values(body, fixed)
    mapped = [
        (f"v{k}", arg if dim == 0 else _applied(ast.Attribute(arg, "unbind", ast.Load()), [ast.Constant(dim)]))
        for k, (arg, dim) in enumerate(zip(args, dims))
        if dim is not None
    ]
    if not mapped:
        return
    if len(mapped) == 1:
        target: ast.expr = ast.Name(mapped[0][0], ast.Store())
        source = mapped[0][1]
    else:
        target = ast.Tuple([ast.Name(name, ast.Store()) for name, _ in mapped], ast.Store())
        source = _applied(ast.Name("zip", ast.Load()), [value for _, value in mapped])
    turns = ast.ListComp(body, [ast.comprehension(target, source, [], 0)])
    stack = parse_expression(f"{torch}.stack")
    yield _applied(stack, [turns, *([out] if out is not None else [])])


def _part(value: ast.expr, item: str) -> ast.expr:
    """``value`` with the subscripts ``item``."""
    return parse_expression(f"({ast.unparse(ast.fix_missing_locations(value))}){item}") if item else value


def _made(function: ast.expr, makers: Mapping[str, str]) -> ast.Call | None:
    """The call of a transform that made ``function``, written where it is called or bound to a name."""
    if isinstance(function, ast.Name) and function.id in makers:
        function = parse_expression(makers[function.id])
    if isinstance(function, ast.Call) and function.args and last_name(function.func) in TRANSFORMS | {"compile"}:
        return function
    return None


def _applied(function: ast.expr, args: list[ast.expr]) -> ast.Call:
    return ast.Call(function, list(args), [])


def _respelled(made: ast.Call, name: str, torch: str) -> ast.Call:
    """``made`` with the transform ``name``, spelled out in full."""
    new = copy.deepcopy(made)
    new.func = parse_expression(f"{torch}.func.{name}")
    return new

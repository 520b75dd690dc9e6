"""Functions: parameters with their arguments, values that are returned, decorators, lambdas.

Decision: a function and its calls change in one edit. Where a use of the function is not understood nothing is
proposed, because a call that no longer fits its function only costs a query.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from shrinkrepro.core.edits import Edit, Path, replace
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program, parse_expression
from shrinkrepro.core.scopes import Binding
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.arguments import bare, defaults_of
from shrinkrepro_strategies.callees import function_at
from shrinkrepro_strategies.rewriting import Rewrite, body_of, is_simple, own_nodes
from shrinkrepro_strategies.sites import Site, Sites, argument_at, drop_argument, sites_of

Parameter = tuple[Path, int, ast.arg]


def parameters(program: Program, path: Path) -> Iterator[Parameter]:
    """The named parameters of the function at ``path``: (path, position, node); keyword-only ones have position -1."""
    node = program.node(path)
    assert isinstance(node, ast.FunctionDef | ast.Lambda)
    position = 0
    for name in ("posonlyargs", "args"):
        for i, arg in enumerate(getattr(node.args, name)):
            yield (*path, "args", name, i), position, arg
            position += 1
    for i, arg in enumerate(node.args.kwonlyargs):
        yield (*path, "args", "kwonlyargs", i), -1, arg


@strategy("drop-parameter", tier=Tier.FINE)
def drop_parameter(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop a parameter that is not read, together with its arguments at every call."""
    for path, sites in sites_of(program, facts).items():
        for at, position, arg in parameters(program, path):
            if program.scopes.uses.get(Binding(path, arg.arg)):
                continue
            rewrite = Rewrite(program)
            if _without(program, rewrite, sites, at, position, arg):
                yield rewrite.edit()
    for path, node in program.walk(ast.Lambda):
        given = len(node.args.args) - len(node.args.defaults)
        for k in range(given, len(node.args.args)):  # whoever calls a lambda, it need not be given these
            if not program.scopes.uses.get(Binding(path, node.args.args[k].arg)):
                arguments = copy.deepcopy(node.args)
                del arguments.args[k], arguments.defaults[k - given]
                yield replace(path, ast.Lambda(arguments, node.body))


@strategy("drop-unused-arguments", tier=Tier.COARSE)
def drop_unused_arguments(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop all parameters of a function that are not read, together with their arguments."""
    for path, sites in sites_of(program, facts).items():
        unused = [p for p in parameters(program, path) if not program.scopes.uses.get(Binding(path, p[2].arg))]
        whole, done = Rewrite(program), 0
        for parameter in unused:
            rewrite = Rewrite(program)
            if _without(program, rewrite, sites, *parameter):
                whole.merge(rewrite)
                done += 1
        if done > 1:
            yield whole.edit()


def _is_method(program: Program, path: Path) -> bool:
    return isinstance(program.parent(path)[1], ast.ClassDef)


def _without(program: Program, rewrite: Rewrite, sites: Sites, at: Path, position: int, arg: ast.arg) -> bool:
    """Drop the parameter at ``at`` and its arguments; False when a site does not let go of it."""
    if not sites.complete or not sites.found:
        return False
    for site in sites.found:
        index = position if position >= 0 else 10**6
        if not drop_argument(program, rewrite, site, index, arg.arg):
            return False
    rewrite.delete(at)
    return True


@strategy("parameter-to-value", tier=Tier.MEDIUM)
def parameter_to_value(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the one value that a parameter ever gets in its place, and drop it with its arguments.

    The value is a literal that was seen at every read, the default that no call overrides, or what every call
    passes, if that means the same inside the function.
    """
    table = sites_of(program, facts)
    for path, sites in table.items():
        if not sites.complete or not sites.found:
            continue
        node = program.node(path)
        assert isinstance(node, ast.FunctionDef | ast.Lambda)
        defaults = defaults_of(node.args)
        for at, position, arg in parameters(program, path):
            binding = Binding(path, arg.arg)
            uses = program.scopes.uses.get(binding, [])
            if not uses or len(program.scopes.definitions[binding]) > 1:
                continue
            seen: set[str] = set()
            for value in _values(program, facts, table, path, position, arg.arg, uses, defaults.get(arg.arg)):
                if value in seen:
                    continue
                seen.add(value)
                rewrite = Rewrite(program)
                if _without(program, rewrite, sites, at, position, arg):
                    for use in uses:
                        rewrite.replace(use, parse_expression(value))
                    yield rewrite.edit()


def _values(
    program: Program,
    facts: Facts,
    table: dict[Path, Sites],
    path: Path,
    position: int,
    name: str,
    uses: list[Path],
    default: ast.expr | None,
) -> Iterator[str]:
    given = [argument_at(program, s, position if position >= 0 else 10**6, name) for s in table[path].found]
    if default is not None and not any(given):
        yield program.text(default)
        return
    texts = {program.text(program.node(p)) for p in given if p is not None}
    if None not in given and len(texts) == 1 and given[0] is not None:
        value = program.node(given[0])
        assert isinstance(value, ast.expr)
        if (is_simple(value) or len(uses) == 1) and _means_the_same(program, given[0], path, name):
            yield texts.pop()
    origins = {_origin(program, table, p, 4) for p in given}
    origin = origins.pop() if len(origins) == 1 else None
    if origin is not None and not origin.scope and _seen_from(program, path, origin.name, name) == origin:
        yield origin.name
    seen = [f for f in map(facts.of, uses) if f is not None]
    constants = {str(f.value["r"]) if f.same and f.kind == "const" else None for f in seen}
    constant = constants.pop() if len(constants) == 1 else None
    if constant is not None:
        yield constant


def _means_the_same(program: Program, value: Path, inside: Path, without: str) -> bool:
    """Whether the names at ``value`` mean the same in the function at ``inside``, which loses a parameter."""
    for path, node in program.walk(ast.Name):
        if path[: len(value)] == value:
            binding = program.scopes.binding(path)
            if binding is not None and binding != _seen_from(program, inside, node.id, without):
                return False
    return True


def _seen_from(program: Program, inside: Path, name: str, without: str) -> Binding | None:
    """What ``name`` means in the function at ``inside`` once that has no parameter ``without``."""
    return program.scopes.lookup(program.parent(inside)[0] if name == without else inside, name)


def _origin(program: Program, table: dict[Path, Sites], path: Path | None, depth: int) -> Binding | None:
    """The variable that the argument at ``path`` is, through the parameters that hand it on."""
    node = program.node(path) if path is not None else None
    binding = program.scopes.binding(path) if path is not None and isinstance(node, ast.Name) else None
    if binding is None or len(program.scopes.definitions.get(binding, [])) != 1:
        return None
    if not isinstance(program.node(program.scopes.definitions[binding][0]), ast.arg):
        return binding
    sites = table.get(binding.scope)
    if sites is None or not sites.complete or not sites.found or depth == 0:
        return None
    position = next(
        (index for _, index, arg in parameters(program, binding.scope) if arg.arg == binding.name and index >= 0), 10**6
    )
    above = {_origin(program, table, argument_at(program, s, position, binding.name), depth - 1) for s in sites.found}
    return above.pop() if len(above) == 1 else None


@strategy("function-to-lambda", tier=Tier.MEDIUM)
def function_to_lambda(program: Program, facts: Facts) -> Iterator[Edit]:
    """Write a function that only returns an expression as a lambda where it is used, and drop it."""
    for path, node in program.walk(ast.Name, ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            continue
        up, parent = program.parent(path)
        if isinstance(parent, ast.Call) and path == (*up, "func"):
            continue
        callee = function_at(program, facts, path)
        if callee is None or not isinstance(callee.node, ast.FunctionDef) or path[: len(callee.path)] == callee.path:
            continue
        body = body_of(callee.node)
        if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr) or body[0].value is None:
            continue
        if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in own_nodes(*body)):
            continue
        if not _used_once(program, callee.path, callee.node.name):
            continue
        result: ast.expr = body[0].value
        arguments = bare(callee.node.args)
        if callee.implicit is not None:
            if arguments.posonlyargs or not arguments.args:
                continue
            own = Rewrite(program)
            for use in program.scopes.uses.get(Binding(callee.path, arguments.args[0].arg), []):
                own.replace(use, callee.implicit)
            skipped = len(callee.node.body) - 1
            written = own.copy((*callee.path, "body", skipped, "value"))
            assert isinstance(written, ast.expr)
            result, arguments.args = written, arguments.args[1:]
        rewrite = Rewrite(program)
        rewrite.replace(path, ast.Lambda(arguments, result))
        rewrite.delete(callee.path)
        yield rewrite.edit()


def _used_once(program: Program, path: Path, name: str) -> bool:
    if _is_method(program, path):
        return sum(1 for _, a in program.walk(ast.Attribute) if a.attr == name) == 1
    return len(program.scopes.uses_of(path)) == 1


@strategy("drop-returned-part", tier=Tier.FINE)
def drop_returned_part(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop one value of those that a function returns, where no call reads it."""
    for path, sites in sites_of(program, facts).items():
        node = program.node(path)
        results = _results(program, path)
        sizes = {len(t.elts) for _, t in results if isinstance(t, ast.Tuple)}
        if not sites.complete or not sites.found or len(sizes) != 1:
            continue
        if not all(isinstance(value, ast.Tuple) for _, value in results):
            continue
        size = sizes.pop()
        for index in range(size):
            rewrite = Rewrite(program)
            if all(_unread(program, rewrite, site, index, size) for site in sites.found):
                for at, value in results:
                    assert isinstance(value, ast.Tuple)
                    if size == 2:
                        rewrite.replace(at, value.elts[1 - index])
                    else:
                        rewrite.delete((*at, "elts", index))
                if isinstance(node, ast.FunctionDef) and node.returns is not None:
                    rewrite.delete((*path, "returns"))
                yield rewrite.edit()


def _results(program: Program, path: Path) -> list[tuple[Path, ast.expr]]:
    """Path and value of everything that the function at ``path`` returns."""
    node = program.node(path)
    if isinstance(node, ast.Lambda):
        return [((*path, "body"), node.body)]
    assert isinstance(node, ast.FunctionDef)
    found = []
    for inner in own_nodes(*node.body):
        if isinstance(inner, ast.Return):
            value = inner.value or ast.Constant(None)
            found.append(((*program.paths[id(inner)], "value"), value))
    return found


def _unread(program: Program, rewrite: Rewrite, site: Site, index: int, size: int) -> bool:
    """Whether ``site`` does not read the part at ``index``; the change that this needs is made."""
    if site.result is None:
        return False
    up, parent = program.parent(site.result)
    if isinstance(parent, ast.Expr):
        return True
    if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant) and site.result == (*up, "value"):
        at = parent.slice.value
        if not isinstance(at, int) or at % size == index:
            return False
        if size == 2:
            rewrite.replace(up, parent.value)
        else:
            rewrite.replace((*up, "slice"), ast.Constant(at % size - (at % size > index)))
        return True
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0]
    if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != size:
        return False
    name = target.elts[index]
    path = (*up, "targets", 0, "elts", index)
    if not isinstance(name, ast.Name):
        return False
    binding = program.scopes.binding(path)
    if name.id != "_" and binding is not None and program.scopes.uses.get(binding):
        return False
    if size == 2:
        rewrite.replace((*up, "targets", 0), target.elts[1 - index])
    else:
        rewrite.delete(path)
    return True


STRATEGIES = (
    drop_unused_arguments,
    parameter_to_value,
    function_to_lambda,
    drop_parameter,
    drop_returned_part,
)

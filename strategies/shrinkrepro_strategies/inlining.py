"""Inlining of calls: a call becomes the body of the function that it reaches.

Decision: the order of evaluation may change and an argument may be evaluated twice: whether that matters, a query
says. The definition goes in the same edit as its last use, so that most of these edits make the program smaller.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.arguments import bind, spread
from shrinkrepro_strategies.blocks import is_cheap, reads, with_values
from shrinkrepro_strategies.callees import Callee, callee_of, decorators, definition_of, in_progress, is_super
from shrinkrepro_strategies.rewriting import (
    COMPREHENSIONS,
    DEFINITIONS,
    Body,
    Rewrite,
    own_nodes,
    scope_of,
    taken_in,
    write_out,
)
from shrinkrepro_strategies.variables import inline_variable

# Decorators that make of a function something that its body is not.
_CHANGING = frozenset(
    {"contextmanager", "custom_op", "property", "cached_property", "overload", "abstractmethod", "setter"}
)
_LOOPS = (ast.For, ast.While, *COMPREHENSIONS)


@strategy("inline-call", tier=Tier.MEDIUM)
def inline_call(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a function's body in the place of a call, and drop the definition with its last use.

    Also methods (``self`` becomes the object), callable objects and a module's forward. Statements go before the
    statement that holds the call.
    """
    for path, _ in program.walk(ast.Call):
        callee = callee_of(program, facts, path)
        if callee is None or not _is_last_use(program, facts, callee, path):
            continue
        edit = inlined(program, [path], callee, drop=True)
        if edit is not None:
            yield edit


@strategy("inline-all-calls", tier=Tier.MEDIUM)
def inline_all_calls(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a small function's body in the place of all its calls, and drop the definition."""
    for path, node in program.walk(ast.FunctionDef):
        uses = program.scopes.uses_of(path)
        if len(uses) < 2 or any(use[: len(path)] == path for use in uses):
            continue
        calls = [program.parent(use)[0] for use in uses]
        if not all(isinstance(program.node(c), ast.Call) and (*c, "func") == u for c, u in zip(calls, uses)):
            continue
        if program.size(path) > 80 or isinstance(program.parent(path)[1], ast.ClassDef):
            continue
        edit = inlined(program, calls, Callee(path, node), drop=True)
        if edit is not None:
            yield edit


@strategy("inline-call-copy", tier=Tier.MEDIUM, grows=True)
def inline_call_copy(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a copy of a function's body in the place of a call that the failure came out of."""
    for path, _ in program.walk(ast.Call):
        callee = callee_of(program, facts, path)
        if callee is None or _is_last_use(program, facts, callee, path):
            continue
        if facts.known and not in_progress(facts, path):
            continue
        edit = inlined(program, [path], callee, drop=False)
        if edit is not None:
            yield edit


@strategy("inline-property", tier=Tier.MEDIUM)
def inline_property(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a property's value in the place of the attribute, and drop the property."""
    for path, node in program.walk(ast.FunctionDef):
        if not decorators(node) & {"property", "cached_property"}:
            continue
        accesses = [p for p, a in program.walk(ast.Attribute) if a.attr == node.name and p[: len(path)] != path]
        if not accesses or not all(isinstance(program.node(p), ast.Attribute) for p in accesses):
            continue
        rewrite = Rewrite(program)
        fits = True
        for at in accesses:
            attribute = program.node(at)
            assert isinstance(attribute, ast.Attribute)
            callee = Callee(path, node, attribute.value)
            fits = fits and write_call(
                program, rewrite, at, ast.Call(attribute, [], []), callee, {"property", "cached_property"}
            )
        if fits:
            rewrite.delete(path)
            yield rewrite.edit()


@strategy("inline-generator", tier=Tier.MEDIUM)
def inline_generator(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make a loop over a generator function the generator's body, with the loop's body for its yield."""
    for path, loop in program.walk(ast.For):
        call = loop.iter
        if not isinstance(call, ast.Call):
            continue
        callee = callee_of(program, facts, (*path, "iter"))
        if callee is None or isinstance(callee.node, ast.Lambda):
            continue
        yields = [n for n in own_nodes(*callee.node.body) if isinstance(n, ast.Yield | ast.YieldFrom)]
        if len(yields) != 1 or not isinstance(yields[0], ast.Yield) or yields[0].value is None:
            continue
        found = _yield_statement(program, callee.path, yields[0])
        bound = bind(call, callee.node.args, callee.implicit)
        if found is None or bound is None:
            continue
        marked = Rewrite(program)
        body = write_out(
            program, callee.path, bound, taken_in(program, scope_of(program, path), callee.path), False, True
        )
        if body is None or body.result is not None:
            continue
        for node in list(own_nodes(*body.statements)):
            for field in ("body", "orelse"):
                block = getattr(node, field, None)
                if isinstance(block, list):
                    setattr(node, field, _fed(block, loop))
        marked.statements(path, _fed(body.statements, loop))
        if _is_last_use(program, facts, callee, (*path, "iter")):
            marked.delete(callee.path)
        yield marked.edit()


def _fed(block: list[ast.stmt], loop: ast.For) -> list[ast.stmt]:
    new: list[ast.stmt] = []
    for statement in block:
        if (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Yield)
            and statement.value.value is not None
        ):
            new.extend([ast.Assign([loop.target], statement.value.value), *loop.body])
        else:
            new.append(statement)
    return new


def _yield_statement(program: Program, path: Path, node: ast.Yield) -> Path | None:
    up, statement = program.parent(program.paths[id(node)])
    return up if isinstance(statement, ast.Expr) else None


def _is_last_use(program: Program, facts: Facts, callee: Callee, call: Path) -> bool:
    """Whether nothing else in the program can mean the callee."""
    if isinstance(callee.node, ast.Lambda):
        up, statement = program.parent(callee.path)
        if isinstance(statement, ast.Call):
            return True
        if not isinstance(statement, ast.Assign):
            return False
        return len(program.scopes.uses_of((*up, "targets", 0))) == 1
    _, owner = program.parent(callee.path)
    if not isinstance(owner, ast.ClassDef):
        return len(program.scopes.uses_of(callee.path)) == 1 and definition_of(program, (*call, "func")) == callee.path
    name = callee.node.name
    if name == "__init__":
        return len(program.scopes.uses_of(program.parent(callee.path)[0])) == 1
    if name in ("forward", "__call__"):
        func = facts.of((*call, "func"))
        return func is not None and func.count >= facts.count(callee.node) > 0
    return sum(1 for _, a in program.walk(ast.Attribute) if a.attr == name) == 1


def inlined(program: Program, calls: list[Path], callee: Callee, drop: bool) -> Edit | None:
    """The edit that writes the callee's body at each of ``calls``."""
    rewrite = Rewrite(program)
    for path in calls:
        call = program.node(path)
        assert isinstance(call, ast.Call)
        if not write_call(program, rewrite, path, call, callee):
            return None
    if drop:
        _drop(program, rewrite, callee)
    return rewrite.edit()


def _drop(program: Program, rewrite: Rewrite, callee: Callee) -> None:
    if not isinstance(callee.node, ast.Lambda):
        rewrite.delete(callee.path)
        return
    up, statement = program.parent(callee.path)
    if isinstance(statement, ast.Assign):
        rewrite.delete(up)


def write_call(
    program: Program,
    rewrite: Rewrite,
    path: Path,
    call: ast.Call,
    callee: Callee,
    allowed: frozenset[str] | set[str] = frozenset(),
) -> bool:
    """Write the body of ``callee`` at the expression ``path``; False when there is no place for it."""
    if isinstance(callee.node, ast.FunctionDef) and decorators(callee.node) & _CHANGING - allowed:
        return False
    implicit = callee.implicit
    bound = bind(call, callee.node.args, implicit)
    if bound is None:
        return False
    at, statement = program.statement_of(path)
    if bound.unpacked and not _can_hoist(program, path, at, statement):
        bound = spread(bound)
    taken = taken_in(program, scope_of(program, at), callee.path)
    for name in _only_target(program, at, statement):
        taken.discard(name)
    tail = isinstance(statement, ast.Return) and path == (*at, "value")
    body = write_out(program, callee.path, bound, taken, tail)
    if body is None or any(is_super(n) for s in body.statements for n in ast.walk(s)):
        return False
    return _place(program, rewrite, path, at, statement, body, tail)


def _place(
    program: Program, rewrite: Rewrite, path: Path, at: Path, statement: ast.stmt, body: Body, tail: bool
) -> bool:
    if tail:
        rewrite.statements(at, body.statements)
        return True
    if body.statements and not _can_hoist(program, path, at, statement):
        return False
    if isinstance(statement, ast.Expr) and path == (*at, "value"):
        trivial = body.result is None or isinstance(body.result, ast.Name | ast.Constant)
        last = [] if trivial or body.result is None else [ast.Expr(body.result)]
        rewrite.statements(at, [*body.statements, *last])
        return True
    rewrite.replace(path, body.result or ast.Constant(None))
    if body.statements:
        rewrite.before(at, body.statements)
    return True


def _can_hoist(program: Program, path: Path, at: Path, statement: ast.stmt) -> bool:
    if isinstance(statement, ast.While | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    if isinstance(program.parent(at)[1], ast.ClassDef):
        return False
    inner = path
    for up, node in program.ancestors(path):
        if up == at:
            return True
        if isinstance(node, DEFINITIONS):
            return False
        if isinstance(node, COMPREHENSIONS) and inner[: len(up) + 3] != (*up, "generators", 0, "iter"):
            return False
        inner = path
    return True


def _only_target(program: Program, at: Path, statement: ast.stmt) -> set[str]:
    """The names that ``statement`` alone assigns, from a call, and reads itself in no place."""
    if not isinstance(statement, ast.Assign) or program.enclosing(at, *_LOOPS[:2]):
        return set()
    found = set()
    for target in own_nodes(*statement.targets):
        if isinstance(target, ast.Name):
            binding = program.scopes.binding(program.paths[id(target)])
            if binding is not None and len(program.scopes.definitions[binding]) == 1:
                found.add(target.id)
    return found


@strategy("apply-partial", tier=Tier.MEDIUM)
def apply_partial(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make ``partial(f, a)(b)`` the call ``f(a, b)``, and a partial that is passed on ``f`` itself.

    A lambda takes what is bound into its body: ``partial(lambda a, b: a * b, 2)`` -> ``lambda b: 2 * b``.
    """
    for path, node in program.walk(ast.Call):
        if not _is_partial(node.func) or not node.args:
            continue
        rewrite = Rewrite(program)
        up, outer = program.parent(path)
        bound = _bound(node)
        if isinstance(outer, ast.Call) and path == (*up, "func"):
            rewrite.replace(
                up, ast.Call(node.args[0], [*node.args[1:], *outer.args], [*node.keywords, *outer.keywords])
            )
        elif bound is not None:
            rewrite.replace(path, bound)
        else:
            rewrite.replace(path, node.args[0])
        yield rewrite.edit()


def _bound(call: ast.Call) -> ast.Lambda | None:
    """A partial application of a lambda as a lambda of what is left; None where that is not plain to see."""
    function, *values = call.args
    if not isinstance(function, ast.Lambda) or any(isinstance(value, ast.Starred) for value in values):
        return None
    given = function.args
    names = [arg.arg for arg in (*given.posonlyargs, *given.args)]
    known: dict[str, ast.expr] = dict(zip(names, values))
    known.update({word.arg: word.value for word in call.keywords if word.arg is not None})
    if len(values) > len(names) or len(known) < len(values) + len(call.keywords):
        return None
    if any(reads(function.body, name) > 1 and not is_cheap(value) for name, value in known.items()):
        return None
    without = len(names) - len(given.defaults)
    kept = [k for k, name in enumerate(names) if name not in known]
    words = [k for k, arg in enumerate(given.kwonlyargs) if arg.arg not in known]
    left = ast.arguments(
        posonlyargs=[arg for arg in given.posonlyargs if arg.arg not in known],
        args=[arg for arg in given.args if arg.arg not in known],
        vararg=given.vararg,
        kwonlyargs=[given.kwonlyargs[k] for k in words],
        kw_defaults=[given.kw_defaults[k] for k in words],
        kwarg=given.kwarg,
        defaults=[given.defaults[k - without] for k in kept if k >= without],
    )
    return ast.Lambda(left, with_values(function.body, known))


def _is_partial(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "partial") or (
        isinstance(node, ast.Attribute) and node.attr == "partial"
    )


STRATEGIES = (
    inline_variable,
    inline_call,
    inline_all_calls,
    inline_call_copy,
    inline_property,
    inline_generator,
    apply_partial,
)

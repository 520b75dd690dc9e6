"""Contexts: ``with`` blocks joined with each other and with what follows them, and the user's own taken apart.

Decision: a block takes in the statement after it only together with the variables that it saves, so that every edit
makes the program smaller. A generator that is a context becomes a function of what it yields: to put a function's
body where it is called is the work of others.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path, delete, join, replace, source_of
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.blocks import reads, statement_lists, substitute
from shrinkrepro_strategies.liveness import nested

_MANAGERS = ("contextlib.contextmanager", "contextlib.asynccontextmanager")


@strategy("merge-with", tier=Tier.MEDIUM)
def merge_with(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put one ``with`` for two of the same contexts, one after the other."""
    for path, node in program.walk(ast.AST):
        for field, body in statement_lists(node):
            for i, (first, second) in enumerate(itertools.pairwise(body)):
                if not isinstance(first, ast.With) or not isinstance(second, ast.With):
                    continue
                if list(map(ast.dump, first.items)) == list(map(ast.dump, second.items)):
                    both = ast.With(first.items, [*first.body, *second.body])
                    yield join(delete((*path, field, i + 1)), replace((*path, field, i), source_of(both)))


@strategy("extend-with", tier=Tier.MEDIUM)
def extend_with(program: Program, facts: Facts) -> Iterator[Edit]:
    """Take the statement after a ``with`` into it, with what the block's last assignments give put into its place.

    Example: ``with c: y = f(x)`` and ``check(y, 1)`` -> ``with c: check(f(x), 1)``.
    """
    for path, node in program.walk(ast.AST):
        for field, body in statement_lists(node):
            for i, (first, second) in enumerate(itertools.pairwise(body)):
                if isinstance(first, ast.With) and isinstance(second, ast.Expr | ast.Assert | ast.Return | ast.Assign):
                    new = _extended(program, first, second, (*path, field, i))
                    if new is not None:
                        yield join(delete((*path, field, i + 1)), replace((*path, field, i), source_of(new)))


def _extended(program: Program, block: ast.With, after: ast.stmt, at: Path) -> ast.With | None:
    """``block`` with ``after`` at its end; None where that saves no variable."""
    rest = list(block.body)
    while rest:
        last = rest[-1]
        if not isinstance(last, ast.Assign) or len(last.targets) != 1 or not isinstance(last.targets[0], ast.Name):
            break
        name = last.targets[0].id
        uses = program.scopes.uses_of((*at, "body", len(rest) - 1, "targets", 0))
        if len(uses) != 1 or reads(after, name) != 1:
            break
        [new] = substitute([after], name, last.value)
        assert isinstance(new, ast.stmt)
        after = new
        rest.pop()
    return ast.With(block.items, [*rest, after]) if len(rest) < len(block.body) else None


@strategy("function-for-context", tier=Tier.COARSE)
def function_for_context(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make a generator that serves as a context a function that returns what it yields, and drop what follows it.

    Example: ``@contextmanager``, ``def f(m): h = A(m); yield h; h.close()`` and ``with f(m) as c: g(c)`` ->
    ``def f(m): h = A(m); return h`` and ``c = f(m)``, ``g(c)``.
    """
    for path, node in program.walk(ast.FunctionDef):
        marks = [
            k
            for k in range(len(node.decorator_list))
            if calls.library_name(program, (*path, "decorator_list", k)) in _MANAGERS
        ]
        body = _until_yield(node.body)
        uses = [_entered_at(program, use) for use in program.scopes.uses_of(path)]
        blocks = [at for at in uses if at is not None]
        if len(marks) != 1 or body is None or len(blocks) != len(uses) or nested([path, *blocks]):
            continue
        new = copy.copy(node)
        new.body, new.decorator_list = body, [d for k, d in enumerate(node.decorator_list) if k not in marks]
        yield join(replace(path, source_of(new)), *(Edit((Change(at, _opened(program, at)),)) for at in blocks))


def _until_yield(body: list[ast.stmt]) -> list[ast.stmt] | None:
    """The statements up to the one ``yield``, which becomes a return; None where it stands elsewhere."""
    for k, statement in enumerate(body):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield):
            return [*body[:k], ast.Return(statement.value.value)]
        if isinstance(statement, ast.Try | ast.With) and any(isinstance(n, ast.Yield) for n in ast.walk(statement)):
            inner = _until_yield(statement.body) if isinstance(statement, ast.Try) else None
            return None if inner is None else [*body[:k], *inner]  # another context would be left too early
        if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(statement)):
            return None
    return None


def _entered_at(program: Program, use: Path) -> Path | None:
    """Path of the ``with`` whose only context is the call of what is used at ``use``."""
    up, call = program.parent(use)
    item_path, item = program.parent(up)
    at, block = program.parent(item_path)
    called = isinstance(call, ast.Call) and use == (*up, "func") and isinstance(item, ast.withitem)
    return at if called and isinstance(block, ast.With) and len(block.items) == 1 else None


def _opened(program: Program, path: Path) -> str:
    """The statements of the ``with`` at ``path`` after an assignment of what it enters."""
    block = program.node(path)
    assert isinstance(block, ast.With)
    item = block.items[0]
    call = program.text(item.context_expr)
    first = call if item.optional_vars is None else f"{program.text(item.optional_vars)} = {call}"
    return "\n".join([first, *map(program.text, block.body)])


STRATEGIES = (merge_with, extend_with, function_for_context)

"""Contexts: ``with`` blocks joined with each other and with what follows them.

Decision: a block takes in the statement after it only together with the variables that it saves, so that every edit
makes the program smaller.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from shrinkrepro.core.edits import Edit, Path, delete, join, replace, source_of
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.blocks import reads, statement_lists, substitute


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


STRATEGIES = (merge_with, extend_with)

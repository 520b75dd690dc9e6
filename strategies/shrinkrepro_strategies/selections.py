"""Selections: ``where`` and its like, with a plain number for what is not selected from.

Decision: what makes a selection fail is the branch that is computed although it is not taken, so the other branch may
as well be nothing; once it is, nothing that it needed stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.slices import Slicer


@strategy("zero-for-branch", tier=Tier.MEDIUM)
def zero_for_branch(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put 0, or 1, for one of the two that ``torch.where`` selects from, and for what ``masked_fill`` fills in.

    Example: ``torch.where(x > 0, x / n, g(x))`` -> ``torch.where(x > 0, x / n, 0)``.
    """
    slicer = Slicer(program)
    for path, node in program.walk(ast.Call):
        for at in _branches(program, path, node):
            if isinstance(program.node(at), ast.Constant | ast.Starred):
                continue
            for number in ("0", "1"):
                yield Edit(slicer.with_dead(Change(at, number)))


def _branches(program: Program, path: Path, node: ast.Call) -> list[Path]:
    """Paths of the values that the call at ``path`` selects from."""
    if calls.callee(program, path) == "torch.where":
        return [(*path, "args", k) for k in (1, 2)] if len(node.args) == 3 else []
    if not isinstance(node.func, ast.Attribute) or len(node.args) != 2:
        return []
    if node.func.attr == "where":
        return [(*path, "args", 1)]
    return [(*path, "args", 1)] if node.func.attr.rstrip("_") in ("masked_fill", "index_fill") else []


STRATEGIES = (zero_for_branch,)

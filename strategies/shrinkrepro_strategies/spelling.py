"""Spelling: the shorter of two ways to write one operation.

Decision: late, when the program is small; of two spellings the shorter is what people write in a report.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.rewriting import Rewrite
from shrinkrepro_strategies.tensors import SIZED

_PLACED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)  # what a method may be written after without brackets


@strategy("method-for-function", tier=Tier.POLISH, independent=True)
def method_for_function(program: Program, facts: Facts) -> Iterator[Edit]:
    """Call the method of a tensor for the library's function of it: ``torch.round(x)`` -> ``x.round()``."""
    for path, node, full in calls.calls_of(program, "torch."):
        home, _, name = full.rpartition(".")
        if home not in ("torch", "torch.linalg", "torch.nn.functional") or full in SIZED or not node.args:
            continue
        first = node.args[0]
        fact = facts.of((*path, "args", 0))
        if not isinstance(first, _PLACED) or (fact is not None and fact.kind != "tensor"):
            continue
        rest = ", ".join(map(program.text, (*node.args[1:], *node.keywords)))
        yield Edit((Change(path, f"{program.text(first)}.{name}({rest})"),))


@strategy("backward-for-grad", tier=Tier.FINE)
def backward_for_grad(program: Program, facts: Facts) -> Iterator[Edit]:
    """Call ``backward`` for ``torch.autograd.grad`` with one input, and read the input's ``grad``.

    Example: ``g = torch.autograd.grad(y.sum(), x)[0]`` -> ``y.sum().backward()`` and ``g = x.grad``; also without
    the sum.
    """
    for path, node, _ in calls.calls_of(program, "torch.autograd.grad"):
        if len(node.args) != 2 or isinstance(node.args[0], ast.Starred):
            continue
        inputs = node.args[1]
        if isinstance(inputs, ast.Tuple | ast.List) and len(inputs.elts) == 1:
            inputs = inputs.elts[0]
        at, statement = program.statement_of(path)
        if not isinstance(inputs, ast.Name | ast.Attribute) or not _runs_once(program, path, at):
            continue
        place = _whole(program, path)
        for outputs in (node.args[0], _unsummed(node.args[0])):
            if outputs is None:
                continue
            rewrite = Rewrite(program)
            rewrite.before(at, [ast.Expr(ast.Call(ast.Attribute(outputs, "backward", ast.Load()), [], []))])
            gradient = ast.Attribute(inputs, "grad", ast.Load())
            if isinstance(statement, ast.Expr) and place in (path, (*at, "value")):
                rewrite.delete(at)
            elif place == path:
                rewrite.replace(path, ast.Tuple([gradient], ast.Load()))
            else:
                rewrite.replace(place, gradient)
            yield rewrite.edit()


def _whole(program: Program, path: Path) -> Path:
    """The subscript of the gradients at ``path`` that takes the only one, or ``path`` itself."""
    up, parent = program.parent(path)
    first = isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant) and parent.slice.value == 0
    return up if first and path == (*up, "value") else path


def _runs_once(program: Program, path: Path, statement: Path) -> bool:
    """Whether the expression at ``path`` is evaluated exactly once each time that its statement runs."""
    node = program.node(statement)
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return | ast.Assert):
        return False
    scoped = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp)
    return not any(len(up) > len(statement) and isinstance(above, scoped) for up, above in program.ancestors(path))


def _unsummed(node: ast.expr) -> ast.expr | None:
    """``x`` of ``x.sum()``."""
    plain = isinstance(node, ast.Call) and not node.args and not node.keywords
    if plain and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sum":
        return node.func.value
    return None


STRATEGIES = (backward_for_grad, method_for_function)

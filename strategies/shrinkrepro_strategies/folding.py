"""Folding: what an expression is when some of its parts are literals.

Decision: only what needs no run is folded (a branch of a literal condition, an element of a literal), so a folded
text means the same as the text that it came from, but for effects that it leaves out.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from shrinkrepro_strategies.blocks import statement_lists


class _Folding(ast.NodeTransformer):
    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        truth = truth_of(node.test)
        return node if truth is None else node.body if truth else node.orelse

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        truth = truth_of(node.test)
        return node if truth is None else node.body if truth else node.orelse

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        decisive = isinstance(node.op, ast.Or)
        kept: list[ast.expr] = []
        for value in node.values:
            kept.append(value)
            if truth_of(value) is decisive:
                break
            if truth_of(value) is not None and value is not node.values[-1]:
                kept.pop()
        return kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        truth = truth_of(node.operand) if isinstance(node.op, ast.Not) else None
        return node if truth is None else ast.Constant(not truth)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) != 1 or not isinstance(node.left, ast.Constant):
            return node
        right = node.comparators[0]
        if not isinstance(right, ast.Constant):
            return node
        if isinstance(node.ops[0], ast.Eq | ast.Is):
            return ast.Constant(node.left.value == right.value)
        if isinstance(node.ops[0], ast.NotEq | ast.IsNot):
            return ast.Constant(node.left.value != right.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        found = element_of(node.value, node.slice) if isinstance(node.ctx, ast.Load) else None
        return node if found is None else found


def fold(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """``body``, which is changed, with literal conditions and subscripts of literals worked out."""
    holder = _Folding().visit(ast.Module(list(body), []))
    assert isinstance(holder, ast.Module)
    for node in ast.walk(holder):
        for field, inner in statement_lists(node):
            if field == "body" and not inner and not isinstance(node, ast.Module):
                inner.append(ast.Pass())
        if isinstance(getattr(node, "body", None), list) and not node.body and node is not holder:  # type: ignore[attr-defined]
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
    return holder.body


def truth_of(node: ast.expr) -> bool | None:
    """The truth of a literal; None for anything else."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(e, ast.Starred) for e in node.elts):
        return bool(node.elts)
    return None


def element_of(holder: ast.expr, index: ast.expr) -> ast.expr | None:
    """The element of the literal ``holder`` at the literal ``index``, when there is one."""
    key = _literal(index)
    if isinstance(holder, ast.List | ast.Tuple) and isinstance(key, int) and not isinstance(key, bool):
        if any(isinstance(e, ast.Starred) for e in holder.elts) or not -len(holder.elts) <= key < len(holder.elts):
            return None
        return holder.elts[key]
    if isinstance(holder, ast.Dict) and None not in holder.keys and isinstance(key, str | int):
        for name, value in zip(reversed(holder.keys), reversed(holder.values)):
            if isinstance(name, ast.Constant) and name.value == key:
                return value
    return None


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None

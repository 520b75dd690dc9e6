"""Another device for a script: what ``--device`` changes in its text.

Decision: the device is written into the program, not set by the harness, so that the result needs no harness to fail.
The line that sets the default device is reduced like any other.
"""

from __future__ import annotations

import ast
import re

_DEVICE = re.compile(r"(cpu|cuda|mps|xpu|hip|meta)(:\d+)?")
_METHODS = frozenset({"cpu", "cuda", "xpu"})  # of tensors and modules: x.cuda(), x.cuda(1)


def on_device(source: str, device: str, default: bool = True) -> str:
    """``source`` with its device strings replaced by ``device``, which is made the default one.

    ``default`` False only replaces (for a module beside the script). Text without devices comes back as it is when
    ``device`` is the CPU.

    Raises:
        SyntaxError: ``source`` does not parse.
    """
    tree = ast.parse(source)
    rewriter = _Rewriter(device)
    new = rewriter.visit(tree)
    if default and device != "cpu":
        _set_default(new, device)
    elif not rewriter.changed:
        return source
    return ast.unparse(ast.fix_missing_locations(new)) + "\n"


class _Rewriter(ast.NodeTransformer):
    def __init__(self, device: str) -> None:
        self._device = device
        self.changed = False

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and _DEVICE.fullmatch(node.value) and node.value != self._device:
            self.changed = True
            return ast.Constant(self._device)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = node.func
        if not isinstance(called, ast.Attribute) or called.attr not in _METHODS:
            return node
        if isinstance(called.value, ast.Name) and called.value.id == "torch":
            return node
        self.changed = True
        return ast.Call(ast.Attribute(called.value, "to", ast.Load()), [ast.Constant(self._device)], [])


def _set_default(tree: ast.Module, device: str) -> None:
    at = 0
    for i, statement in enumerate(tree.body):
        docstring = i == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if docstring or isinstance(statement, ast.Import | ast.ImportFrom):
            at = i + 1
        else:
            break
    lines = ast.parse(f"import torch\ntorch.set_default_device({device!r})").body
    imported = any(
        isinstance(s, ast.Import) and any(alias.name == "torch" and not alias.asname for alias in s.names)
        for s in tree.body[:at]
    )
    tree.body[at:at] = lines[1:] if imported else lines

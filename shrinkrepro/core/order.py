"""The one total order of programs: what "simpler" means.

Decision: (lexical tokens, simplicity rank, characters, text). Tokens are the literature's unit and dominate; the
rank prefers the simpler of two programs of equal size, by the table below, so that polishing terminates by itself.
"""

from __future__ import annotations

import ast
import math

from shrinkrepro.core.program import Program, last_name

Key = tuple[int, int, int, str]

# Penalty of an attribute or name, for programs of the same number of tokens: the plainer spelling has less.
NAMES = {
    "zeros": 1, "ones": 2, "eye": 3, "full": 4, "tensor": 3, "arange": 5, "rand": 7, "randn": 8, "randint": 9,
    "empty": 10, "zeros_like": 3, "ones_like": 4, "randn_like": 9, "rand_like": 9, "empty_like": 11,
    "float64": 2, "double": 2, "float16": 3, "half": 3, "bfloat16": 3, "cfloat": 4, "complex64": 5, "complex128": 5,
    "cuda": 6, "hessian": 40, "jacfwd": 22, "jacrev": 22, "vjp": 18, "jvp": 18, "grad": 12, "grad_and_value": 16,
    "vmap": 14, "linearize": 24, "functionalize": 14, "compile": 20, "functional_call": 20, "stack_module_state": 10,
    "jacobian": 30, "inductor": 6, "aot_eager": 4, "eager": 2,
}  # fmt: skip
_SIZED = frozenset({"zeros", "ones", "rand", "randn", "empty"})
# Names that readers expect for a local thing.
CONVENTIONAL = frozenset(
    [*"xyzwfghabcdijknmpqrstuvABLQWXY", "fn", "net", "model", "loss", "out", "params", "norm", "op"]
)


def key(program: Program) -> Key:
    """The sort key of a program: less is simpler."""
    tokens = program.tokens + _BACKEND_TOKENS * _implied_backends(program.tree)
    return tokens, rank(program.tree), len(program.source), program.source


_BACKEND_TOKENS = 6  # one more than ``(backend="eager")`` has


def _implied_backends(tree: ast.AST) -> int:
    """How often ``torch.compile`` stands without a backend: that is the largest, and counts for more than a plain one.

    So ``backend="eager"`` stays where it is enough: it tells a reader that no code generator takes part.
    """
    compiles = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and ast.unparse(n) == "torch.compile"]
    spelled = [
        call.func
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and any(word.arg == "backend" for word in call.keywords)
    ]
    return sum(not any(node is func for func in spelled) for node in compiles)


def rank(tree: ast.AST) -> int:
    """The simplicity rank: the sum of small penalties for what reads worse at equal size."""
    return sum(_penalty(node) for node in ast.walk(tree))


def _penalty(node: ast.AST) -> int:
    if isinstance(node, ast.Constant):
        return _literal(node.value)
    if isinstance(node, ast.Call):
        empty = any(isinstance(a, ast.Constant) and a.value == 0 and a.value is not False for a in node.args)
        return 4 if empty and last_name(node.func) in _SIZED else 0  # an empty tensor is a special one
    if isinstance(node, ast.Attribute):
        return NAMES.get(node.attr, 1)
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            return 0 if node.id in CONVENTIONAL else 2
        return NAMES.get(node.id, 0)
    if isinstance(node, ast.arg):
        return 0 if node.arg in CONVENTIONAL or node.arg in ("self", "ctx") else 2
    if isinstance(node, ast.alias):
        return 3 if node.asname else 0
    if isinstance(node, ast.While | ast.For | ast.Try | ast.ClassDef):
        return 4
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.If | ast.With):
        return 2
    return 0


def _literal(value: object) -> int:
    if isinstance(value, bool) or value is None or value is Ellipsis:
        return 0
    if isinstance(value, int):
        # 2 is the plainest size (1 broadcasts, 0 is empty), but a plain 0 or 1 is the plainest number
        return min(abs(value).bit_length(), 40) + (value < 0)
    if isinstance(value, float):
        if not math.isfinite(value):
            return 12
        return 1 + min(len(repr(value)), 20) + (value < 0)
    if isinstance(value, str | bytes):
        return min(len(value), 40)
    return 20

"""Fixed random numbers for a script: the statements that seed it.

Decision: the seeds are written into the program, as the result must fail without a harness; the reduction drops
them again where the failure turns out not to need them.
"""

from __future__ import annotations

import ast


def seeded(source: str, seed: int) -> str:
    """``source`` with ``torch`` seeded at its start, and ``random`` and ``numpy`` where it imports them.

    Raises:
        SyntaxError: ``source`` does not parse.
    """
    tree = ast.parse(source)
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    } | {(node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    lines = ["import torch", f"torch.manual_seed({seed})"]
    if "random" in imported:
        lines += ["import random", f"random.seed({seed})"]
    if "numpy" in imported:
        lines += ["import numpy", f"numpy.random.seed({seed})"]
    at = 0
    for statement in tree.body:
        docstring = at == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (docstring or future):
            break
        at += 1
    tree.body[at:at] = ast.parse("\n".join(lines)).body
    return ast.unparse(tree) + "\n"

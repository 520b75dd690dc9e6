"""The two values that a program's last check compares, printed in the check's place."""

from __future__ import annotations

import ast

from shrinkrepro.core.program import last_name
from shrinkrepro.tasks.neighbour_text import Text

SEPARATOR = "--- expected ---"
_CHECKS = frozenset({"assert_close", "assert_allclose", "assert_equal", "allclose", "equal", "array_equal"})


def printing(source: str) -> str | None:
    """``source`` with its last check made into prints of what it compares; None when it has none that can be told.

    Raises:
        SyntaxError: ``source`` does not parse.
    """
    text = Text(source)
    found = [(node, call) for node in ast.walk(text.tree) for call in [_check(node)] if call is not None]
    if not found:
        return None
    statement, (got, want) = max(found, key=lambda pair: text.span(pair[0])[0])
    new = f"print({text.of(got)}); print({SEPARATOR!r}); print({text.of(want)})"
    return text.replaced({statement: new})


def _check(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two expressions that the statement ``node`` compares."""
    tested = node.test if isinstance(node, ast.Assert) else node.value if isinstance(node, ast.Expr) else None
    if isinstance(tested, ast.Call) and last_name(tested.func) in _CHECKS:
        sides = tested.args[:2]
        if len(sides) == 2 and not any(isinstance(side, ast.Starred) for side in sides):
            return sides[0], sides[1]
    return None

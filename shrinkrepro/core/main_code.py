"""Statements put at the end of a script, where its main code may be in the way.

Decision: what stands under ``if __name__ == "__main__":`` is left out, as an import leaves it out, unless something
outside reads a name that only it binds: it may take long, need arguments, or end the process.
"""

from __future__ import annotations

import ast


def appended(script: str, lines: str) -> tuple[str, int]:
    """``script`` with ``lines`` after it, and the number of the first of these in the new text."""
    tree = ast.parse(script)
    old = script.splitlines()
    for statement in reversed(tree.body):
        if isinstance(statement, ast.If) and _is_guard(statement.test) and not statement.orelse:
            if _needed(tree, statement, lines):
                continue
            first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
            old[first:last] = []
    while old and not old[-1].strip():
        old.pop()
    return "\n".join([*old, lines]) + "\n", len(old) + 1


def _is_guard(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [test.left, *test.comparators]
    return any(isinstance(s, ast.Name) and s.id == "__name__" for s in sides) and any(
        isinstance(s, ast.Constant) and s.value == "__main__" for s in sides
    )


def _needed(tree: ast.Module, guard: ast.If, lines: str) -> bool:
    bound = _ids(guard, ast.Store)
    for statement in tree.body:
        if statement is not guard:
            bound -= _ids(statement, ast.Store)
    outside = [statement for statement in tree.body if statement is not guard] + ast.parse(lines).body
    return any(bound & _ids(statement, ast.Load) for statement in outside)


def _ids(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """The names read in ``node``, or those that it binds in the scope that it stands in."""
    if context is ast.Load:
        return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    found = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
    if isinstance(node, ast.Lambda | ast.comprehension):
        return found
    return found.union(*(_ids(child, context) for child in ast.iter_child_nodes(node)))

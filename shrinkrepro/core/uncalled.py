"""Tests that a script defines and never calls: it is a file for pytest or unittest, not a program."""

from __future__ import annotations

import ast
from typing import TypeGuard

from shrinkrepro.core.program import last_name


def uncalled_tests(source: str) -> list[str]:
    """The tests in ``source`` by their pytest names (``test_a``, ``TestB::test_c``); none where something runs them."""
    tree = ast.parse(source)
    found = []
    for statement in tree.body:
        if _is_test(statement):
            found.append(statement.name)
        elif isinstance(statement, ast.ClassDef):
            found += [f"{statement.name}::{inner.name}" for inner in statement.body if _is_test(inner)]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    if used & {"run_tests", "TextTestRunner"} or any(name.rpartition("::")[2] in used for name in found):
        return []
    return [] if _runs_itself(tree) else found


def _is_test(statement: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name.startswith("test")


def _runs_itself(tree: ast.Module) -> bool:
    """Whether a ``main`` is called: unittest's, pytest's, or the program's own."""
    return any(last_name(node.func) == "main" for node in ast.walk(tree) if isinstance(node, ast.Call))

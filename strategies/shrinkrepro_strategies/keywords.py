"""Keyword arguments: which calls name a parameter.

Decision: a call belongs to a function when its callee mentions the function, its class or its method's name; a
call of something else that the program itself made leaves the question open, and then the answer is None.
"""

from __future__ import annotations

import ast

from shrinkrepro.core.edits import Path
from shrinkrepro.core.program import Program

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def keyword_sites(program: Program, parameter: Path) -> list[Path] | None:
    """The keyword nodes of calls that give the parameter at ``parameter`` by name; None when that is not certain."""
    arg = program.node(parameter)
    owner = program.enclosing(parameter, *_FUNCTIONS)
    assert isinstance(arg, ast.arg)
    if owner is None:
        return None
    path, function = owner
    method = program.enclosing(path, ast.ClassDef, *_FUNCTIONS)
    own_class = method if method is not None and isinstance(method[1], ast.ClassDef) else None
    methods = {
        node.name
        for at, node in program.walk(ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(program.parent(at)[1], ast.ClassDef)
    }
    sites: list[Path] = []
    for at, node in program.walk(ast.keyword):
        if node.arg != arg.arg or not isinstance(program.parent(at)[1], ast.Call):
            continue
        call_path, call = program.parent(at)
        assert isinstance(call, ast.Call)
        callee = (*call_path, "func")
        if own_class is not None and isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            if _calls_method(program, callee, call.func, function.name, own_class[0]):
                sites.append(at)
                continue
        elif _mentions(program, callee, path):
            sites.append(at)
            continue
        if _may_be_ours(program, callee, call.func, methods):
            return None
    return sites


def _calls_method(program: Program, callee: Path, node: ast.expr, method: str, own_class: Path) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == method:
        return True
    return method in ("__init__", "__new__") and _mentions(program, callee, own_class)


def _mentions(program: Program, callee: Path, definition: Path) -> bool:
    """Whether a name inside the callee means what is defined at ``definition``, or the callee is that lambda."""
    if definition[: len(callee)] == callee:
        return True
    wanted = program.scopes.binding(definition)
    return wanted is not None and any(use[: len(callee)] == callee for use in program.scopes.uses.get(wanted, ()))


def _may_be_ours(program: Program, callee: Path, node: ast.expr, methods: set[str]) -> bool:
    """Whether the callee could be a function of the program under another name."""
    if isinstance(node, ast.Attribute):
        return node.attr in methods
    if not isinstance(node, ast.Name):
        return True
    binding = program.scopes.binding(callee)
    if binding is None:
        return False
    nodes = [program.node(path) for path in program.scopes.definitions[binding]]
    defined = (ast.alias, ast.FunctionDef, ast.AsyncFunctionDef)
    return not all(isinstance(node, defined) for node in nodes)

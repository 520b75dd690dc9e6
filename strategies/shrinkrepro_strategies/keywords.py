"""Keyword arguments: which calls name a parameter.

Decision: a call belongs to a function when its callee mentions the function, its class or its method's name, or
when it is a ``partial`` of it; where something else could be meant the question is open, and the answer None.
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
    methods: list[str] = []
    alike = 0  # methods of that name with such a parameter
    for at, node in program.walk(ast.FunctionDef, ast.AsyncFunctionDef):
        if isinstance(program.parent(at)[1], ast.ClassDef):
            methods.append(node.name)
            if own_class is not None and node.name == getattr(function, "name", None):
                alike += any(inner.arg == arg.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg))
    target = own_class[0] if own_class is not None else path
    name = getattr(function, "name", "") if own_class is not None else ""
    sites: list[Path] = []
    for at, keyword in program.walk(ast.keyword):
        call_path, call = program.parent(at)
        if keyword.arg not in (arg.arg, None) or not isinstance(call, ast.Call):
            continue
        callee = (*call_path, "func")
        by_attribute = bool(name) and isinstance(call.func, ast.Attribute) and call.func.attr == name
        ours = by_attribute or (
            (own_class is None or name in ("__init__", "__new__")) and _mentions(program, callee, target)
        )
        partial = ast.unparse(call.func).rpartition(".")[2] == "partial"
        given = any(_mentions(program, (*call_path, "args", i), target) for i in range(len(call.args)))
        if (ours or (partial and given)) and keyword.arg is not None:
            if by_attribute and alike > 1:
                return None
            sites.append(at)
        elif ours or given or (keyword.arg is not None and _may_be_ours(program, callee, call.func, methods)):
            return None
    return sites


def _mentions(program: Program, callee: Path, definition: Path) -> bool:
    """Whether a name inside the callee means what is defined at ``definition``, or the callee is that lambda."""
    if definition[: len(callee)] == callee:
        return True
    wanted = program.scopes.binding(definition)
    return wanted is not None and any(use[: len(callee)] == callee for use in program.scopes.uses.get(wanted, ()))


def _may_be_ours(program: Program, callee: Path, node: ast.expr, methods: list[str]) -> bool:
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

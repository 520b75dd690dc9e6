"""Calls of the library: what a callee's spelling means, and how another function of the library is spelled.

Decision: a name means what the import that binds it says (``vmap``, ``torch.vmap`` and ``torch.func.vmap`` are one
thing), never what it looks like; and a new spelling brings its import along in the same edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from shrinkrepro.core.edits import Change, Path
from shrinkrepro.core.program import Program

TRANSFORMS = frozenset(
    {"vmap", "grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "linearize", "functionalize"}
)
FUNCTIONALS = frozenset({"jacobian", "hessian", "hvp", "vhp", "vjp", "jvp"})
# Transforms that are called with the function alone and give a function.
MAKERS = frozenset({"vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian", "functionalize"})
_HOMES = (
    "torch.func.",
    "functorch.",
    "torch._functorch.apis.",
    "torch._functorch.eager_transforms.",
    "torch._functorch.vmap.",
)


def library_name(program: Program, path: Path) -> str | None:
    """The full library name that the Name or Attribute at ``path`` spells, such as ``torch.func.vmap``; else None."""
    names: list[str] = []
    node = program.node(path)
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        path = (*path, "value")
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    binding = program.scopes.binding(path)
    if binding is None:
        return None
    definitions = program.scopes.definitions.get(binding, [])
    if len(definitions) != 1:
        return None
    home = imported_as(program, definitions[0])
    return None if home is None else ".".join([home, *reversed(names)])


def imported_as(program: Program, path: Path) -> str | None:
    """The full name of what the import's alias at ``path`` binds; None when it is no alias."""
    alias = program.node(path)
    if not isinstance(alias, ast.alias):
        return None
    _, statement = program.parent(path)
    if isinstance(statement, ast.ImportFrom):
        return None if statement.level or statement.module is None else f"{statement.module}.{alias.name}"
    return alias.name if alias.asname else alias.name.split(".")[0]


def callee(program: Program, path: Path) -> str | None:
    """The full library name of what ``path`` calls; None when it is not the library's, or no call stands there."""
    return library_name(program, (*path, "func")) if isinstance(program.node(path), ast.Call) else None


def transform_name(full: str | None) -> str | None:
    """``vmap`` for any spelling of torch.func's vmap, and so on; None when ``full`` is no transform."""
    if full is None:
        return None
    if full == "torch.vmap":
        return "vmap"
    for home in _HOMES:
        if full.startswith(home) and full[len(home) :] in TRANSFORMS:
            return full[len(home) :]
    return None


def functional_name(full: str | None) -> str | None:
    """``jacobian`` for ``torch.autograd.functional.jacobian`` and so on; else None."""
    home = "torch.autograd.functional."
    if full is not None and full.startswith(home) and full[len(home) :] in FUNCTIONALS:
        return full[len(home) :]
    return None


def calls_of(program: Program, *prefixes: str) -> Iterator[tuple[Path, ast.Call, str]]:
    """Every call of a library function whose full name starts with one of ``prefixes``: (path, node, full name)."""
    for path, node in program.walk(ast.Call):
        full = callee(program, path)
        if full is not None and full.startswith(prefixes):
            yield path, node, full


def transform_calls(program: Program) -> Iterator[tuple[Path, ast.Call, str]]:
    """Every call of a transform: (path, node, short name)."""
    for path, node in program.walk(ast.Call):
        name = transform_name(callee(program, path))
        if name is not None:
            yield path, node, name


def torch_spelling(program: Program) -> tuple[str, tuple[str, ...]]:
    """How ``torch`` is spelled at module level, and the import that makes it so where there is none yet."""
    for path, node in program.walk(ast.alias):
        if imported_as(program, path) == "torch" and len(path) == 4:
            return node.asname or node.name.split(".")[0], ()
    return "torch", ("import torch",)


def respell(program: Program, path: Path, name: str) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The changes (and imports) that make the transform's name at ``path`` the transform ``name`` instead.

    An import whose only use this was gives its place to the new name.
    """
    node = program.node(path)
    if isinstance(node, ast.Attribute):
        full = library_name(program, path)
        if full == "torch.vmap" and isinstance(node.value, ast.Name):
            return (Change(path, f"{node.value.id}.func.{name}"),), ()
        return (Change((*path, "attr"), name),), ()
    assert isinstance(node, ast.Name)
    binding = program.scopes.binding(path)
    bound = program.scopes.lookup(path, name)
    if binding is None:
        return (Change(path, name),), ()
    definition = program.scopes.definitions[binding][0]
    if bound is not None:
        known = [imported_as(program, d) for d in program.scopes.definitions.get(bound, [])]
        if len(known) != 1 or transform_name(known[0]) != name:
            torch, imports = torch_spelling(program)
            return (Change(path, f"{torch}.func.{name}"),), imports
        gone = (Change(definition),) if program.scopes.uses.get(binding, []) == [path] else ()
        return (Change(path, name), *gone), ()
    if program.scopes.uses.get(binding, []) == [path]:
        return (Change(path, name), Change(definition, name)), ()
    at, statement = program.parent(definition)
    assert isinstance(statement, ast.ImportFrom)
    names = ", ".join([ast.unparse(a) for a in statement.names] + [name])
    return (Change(path, name), Change(at, f"from {statement.module} import {names}")), ()


def positional(call: ast.Call) -> list[ast.expr] | None:
    """The positional arguments of ``call``; None when one of them is starred."""
    return None if any(isinstance(a, ast.Starred) for a in call.args) else list(call.args)


def keyword(call: ast.Call, name: str) -> tuple[int, ast.expr] | None:
    """Index and value of the keyword argument ``name`` of ``call``, or None."""
    for i, word in enumerate(call.keywords):
        if word.arg == name:
            return i, word.value
    return None


def options_of(made: ast.Call, transform: str) -> dict[str | None, ast.expr]:
    """The options that ``made``, a call of ``transform``, gives beside its function, by name."""
    options = {word.arg: word.value for word in made.keywords}
    names = ("in_dims", "out_dims") if transform == "vmap" else ("argnums", "has_aux")
    options.update(zip(names, made.args[1:]))
    return options


def mapped_dims(options: Mapping[str | None, ast.expr], count: int) -> list[int | None] | None:
    """The mapped dimension of each of ``count`` arguments of a vmap with ``options``; None when they are not plain."""
    given = options.get("in_dims")
    if given is None:
        return [0] * count
    try:
        dims = ast.literal_eval(given)
    except ValueError:
        return None
    found = [dims] * count if not isinstance(dims, tuple | list) else list(dims)
    return found if len(found) == count and all(d is None or isinstance(d, int) for d in found) else None

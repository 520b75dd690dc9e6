"""A function and its inputs as a user names them on the command line, read and checked against the script's text.

Decision: all of it is Python, parsed by ``ast``: ``--inputs 'x, torch.randn(3), k=2'`` is what stands between the
parentheses of a call, so a keyword argument needs no option of its own.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from shrinkrepro.core.transform_spec import written
from shrinkrepro.errors import UsageError


@dataclass(frozen=True)
class FunctionCall:
    """``function`` (an expression) of ``inputs`` and ``keywords`` under ``transforms``, outermost first."""

    function: str
    inputs: tuple[str, ...]
    transforms: tuple[str, ...]
    keywords: tuple[tuple[str, str], ...] = ()
    in_dims: tuple[int | None, ...] | None = None  # of every vmap, one for each of inputs; None: 0 for every tensor
    argnums: tuple[int, ...] | None = None  # inputs to differentiate by; None: decided by what they are
    tangents: tuple[str, ...] = ()  # of every jvp, one for each input that it differentiates by

    @property
    def name(self) -> str:
        """The call in words."""
        return f"{self.function} under {written(self.transforms)}"


def read_call(
    text: str,
    function: str,
    inputs: str | None,
    transforms: tuple[str, ...],
    in_dims: str | None = None,
    argnums: str | None = None,
    tangents: str | None = None,
) -> FunctionCall:
    """The call that the options describe, for the script ``text``.

    Raises:
        UsageError: one of them cannot be read, or the script has no such function, or inputs are missing.
    """
    tree = ast.parse(text)
    function = function.strip()
    _check_function(tree, function)
    if inputs is None or not inputs.strip():
        raise _inputs_missing(tree, function)
    positional, keywords = _read_inputs(inputs)
    dims = _read_dims(in_dims, len(positional)) if in_dims is not None else None
    if dims is not None and "vmap" not in transforms:
        raise UsageError(f"--in-dims {in_dims!r} needs a vmap in --transform", f"this is {written(transforms)}")
    return FunctionCall(
        function,
        positional,
        transforms,
        keywords,
        dims,
        _read_argnums(argnums, len(positional)) if argnums is not None else None,
        _read_inputs(tangents, "--tangents")[0] if tangents is not None else (),
    )


def parameters_of(text: str, function: str) -> tuple[str, ...]:
    """The names of the positional parameters of ``function``, as far as the script's text tells them."""
    found = _definition(ast.parse(text), function)
    if found is None:
        return ()
    return tuple(argument.arg for argument in [*found.args.posonlyargs, *found.args.args])


def called_as(text: str, function: str) -> str:
    """How ``function`` is called, as far as the script's text tells; else empty."""
    found = _definition(ast.parse(text), function)
    return f"{function}({ast.unparse(found.args)})" if found is not None else ""


def _parse(source: str, option: str, given: str, how: str) -> ast.expr:
    try:
        return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError):
        raise UsageError(f"{option} {given!r} is not Python", how) from None


def _read_inputs(given: str, option: str = "--inputs") -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    how = f"write what stands between the parentheses of a call: {option} 'x, torch.randn(3)'"
    call = _parse(f"f(\n{given}\n)", option, given, how)
    starred = isinstance(call, ast.Call) and (
        any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords)
    )
    if not isinstance(call, ast.Call) or not (isinstance(call.func, ast.Name) and call.func.id == "f"):
        raise UsageError(f"{option} {given!r} is not a list of inputs", how)
    if starred:
        raise UsageError(f"{option} {given!r} has a *", "write each input by itself")
    if not call.args:
        raise UsageError(f"{option} {given!r} has no positional input", "a transform needs one to work on")
    return (
        tuple(ast.unparse(argument) for argument in call.args),
        tuple((keyword.arg or "", ast.unparse(keyword.value)) for keyword in call.keywords),
    )


def _read_dims(given: str, inputs: int) -> tuple[int | None, ...]:
    how = "write one number or None for each input: --in-dims '0, None'"
    node = _parse(given.strip(), "--in-dims", given, how)
    try:
        value = ast.literal_eval(node)
    except ValueError:
        value = "?"
    dims = value if isinstance(value, tuple) else (value,) * inputs
    if not all(dim is None or (isinstance(dim, int) and not isinstance(dim, bool)) for dim in dims):
        raise UsageError(f"--in-dims {given!r} is no list of dimensions", how)
    if len(dims) != inputs:
        raise UsageError(f"--in-dims {given!r} has {len(dims)} entries for {inputs} inputs", how)
    if all(dim is None for dim in dims):
        raise UsageError(f"--in-dims {given!r} maps no input", "one of them has to be a number")
    return dims


def _read_argnums(given: str, inputs: int) -> tuple[int, ...]:
    how = f"write numbers of inputs, from 0 to {inputs - 1}: --argnums 0 or --argnums '0, 1'"
    node = _parse(given.strip(), "--argnums", given, how)
    try:
        value = ast.literal_eval(node)
    except ValueError:
        value = "?"
    numbers = value if isinstance(value, tuple) else (value,)
    fine = all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
    if not fine or not numbers or not all(-inputs <= number < inputs for number in numbers):
        raise UsageError(f"--argnums {given!r} does not fit {inputs} input{'s' * (inputs > 1)}", how)
    return tuple(dict.fromkeys(number % inputs for number in numbers))


def _check_function(tree: ast.Module, function: str) -> None:
    node = _parse(function, "--function", function, "give the name of a function in the script, or an expression")
    root = node
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return
    known, nested = _names(tree)
    if root.id in known or any(
        isinstance(n, ast.ImportFrom) and any(alias.name == "*" for alias in n.names) for n in ast.walk(tree)
    ):
        return
    if root.id in nested:
        raise UsageError(
            f"--function {function}: {root.id} is defined inside {nested[root.id]}, where it cannot be called from",
            "move it to the top level of the script",
        )
    near = difflib.get_close_matches(root.id, [*known, *nested], 3)
    some = ", ".join(near or [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)][:8])
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {some}" if some else "it defines no function"
    raise UsageError(f"--function {function}: the script has no {root.id}", hint)


def _names(tree: ast.Module) -> tuple[dict[str, None], dict[str, str]]:
    """The names that the top level binds, and those that are defined deeper, each with what it is defined in."""
    known: dict[str, None] = {}
    nested: dict[str, str] = {}

    def visit(node: ast.AST, inside: str) -> None:
        for child in ast.iter_child_nodes(node):
            definition = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            for name in _bound_by(child):
                if inside:
                    nested.setdefault(name, inside)
                else:
                    known[name] = None
            if definition or isinstance(child, ast.Lambda):
                visit(child, getattr(child, "name", "a lambda") if definition else inside or "a lambda")
            elif not isinstance(child, ast.comprehension):
                visit(child, inside)

    visit(tree, "")
    return known, nested


def _bound_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.Global):
        yield from node.names


def _definition(tree: ast.Module, function: str) -> ast.FunctionDef | ast.Lambda | None:
    """Where ``function`` is written: a function, a lambda, a method, or the forward of a module that a name holds."""
    node = ast.parse(function, mode="eval").body
    if isinstance(node, ast.Lambda):
        return node
    method = ""
    if isinstance(node, ast.Attribute):
        method, node = node.attr, node.value
    if isinstance(node, ast.Call):
        node, method = node.func, method or "forward"
    if not isinstance(node, ast.Name):
        return None
    for _ in range(3):  # a name of a name of a definition
        for statement in ast.walk(tree):
            if isinstance(statement, ast.FunctionDef) and statement.name == node.id and not method:
                return statement
            if isinstance(statement, ast.ClassDef) and statement.name == node.id and method:
                return _method(statement, method)
            if isinstance(statement, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == node.id for target in statement.targets
            ):
                value = statement.value
                if isinstance(value, ast.Lambda) and not method:
                    return value
                if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
                    node, method = value.func, method or "forward"
                    break
                if isinstance(value, ast.Name):
                    node = value
                    break
        else:
            return None
    return None


def _method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    for candidate in (name, "__call__"):
        for statement in owner.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == candidate:
                arguments = statement.args
                bound = ast.arguments(
                    posonlyargs=arguments.posonlyargs,
                    args=arguments.args[1:],
                    vararg=arguments.vararg,
                    kwonlyargs=arguments.kwonlyargs,
                    kw_defaults=arguments.kw_defaults,
                    kwarg=arguments.kwarg,
                    defaults=arguments.defaults[-len(arguments.args[1:]) or len(arguments.defaults) :],
                )
                return ast.FunctionDef(name=statement.name, args=bound, body=statement.body, decorator_list=[])
    return None


def _inputs_missing(tree: ast.Module, function: str) -> UsageError:
    found = _definition(tree, function)
    if found is None:
        return UsageError(
            f"--function {function} needs --inputs", "say what to call it with: --inputs 'x, torch.randn(3)'"
        )
    known, _ = _names(tree)
    positional = [*found.args.posonlyargs, *found.args.args]
    required = [argument.arg for argument in positional[: len(positional) - len(found.args.defaults)]]
    example = ", ".join(name if name in known else "torch.randn(3)" for name in required) or "torch.randn(3)"
    return UsageError(
        f"--function {function} needs --inputs: it is called as {function}({ast.unparse(found.args)})",
        f"say what to call it with, in the script's own names: --inputs '{example}'",
    )

"""Transformed functions: what is handed to a transform, down to the bare operation that fails.

Decision: what was being evaluated when it failed (it has no fact) is what may stand for the whole function; nothing
else is tried.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path, source_of
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.callees import classes, definition_of
from shrinkrepro_strategies.slices import Slicer


@strategy("eta-reduce", tier=Tier.MEDIUM)
def eta_reduce(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the function for a lambda or a one-line def that only calls it.

    ``vmap(lambda x: torch.sin(x))`` -> ``vmap(torch.sin)``; also where the call has further arguments, or is one
    among several, or has none: a function of the program then takes what the lambda is given.
    """
    slicer = Slicer(program)
    for path, node in program.walk(ast.Lambda):
        if isinstance(node.body, ast.Call) and _passes_on(node.body, node.args):
            yield Edit((Change(path, program.text(node.body.func)),))
        elif isinstance(node.body, ast.Call) and not node.body.args and not node.body.keywords:
            target = _taking_nothing(program, (*path, "body", "func"))
            if target is not None and node.args.args:
                taking = copy.deepcopy(program.node(target))
                assert isinstance(taking, ast.FunctionDef)
                taking.args.args.extend(ast.arg(parameter.arg) for parameter in node.args.args)
                yield Edit((Change(path, program.text(node.body.func)), Change(target, source_of(taking))))
    for path, definition in program.walk(ast.FunctionDef):
        last = definition.body[-1]
        if (
            not isinstance(last, ast.Return | ast.Expr)
            or not isinstance(last.value, ast.Call)
            or len(definition.body) > 1
        ):
            continue
        func = program.text(last.value.func)
        uses = program.scopes.uses_of(path)
        inner = program.scopes.names_in(path)
        if not uses or inner & {n.id for n in ast.walk(last.value.func) if isinstance(n, ast.Name)}:
            continue
        if any(not _same_meaning(program, (*path, "body", 0), use, last.value.func) for use in uses):
            continue
        if _passes_on(last.value, definition.args):
            yield Edit((*(Change(use, func) for use in uses), Change(path)))
    for path, call in program.walk(ast.Call):
        if calls.callee(program, path) == "functools.partial" and call.args:
            yield Edit(slicer.with_dead(Change(path, program.text(call.args[0]))))


@strategy("effect-for-function", tier=Tier.MEDIUM)
def effect_for_function(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put what a function calls for its effect for the function, and let vmap take what that returns as it is.

    Example: ``def f(x): seen.append(x); return x`` and ``vmap(f)(x)`` -> ``vmap(seen.append, out_dims=None)(x)``.
    """
    slicer = Slicer(program)
    for path, call, name in calls.transform_calls(program):
        if name != "vmap" or not call.args or "decorator_list" in path:
            continue
        here = (*path, "args", 0)
        function = program.node(_definition(program, here))
        if not isinstance(function, ast.FunctionDef):
            continue
        options = [f", {program.text(word)}" for word in call.keywords if word.arg != "out_dims"]
        mapped = [f", {program.text(given)}" for given in call.args[1:2]]
        for statement in function.body:
            effect = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(effect, ast.Call) or not _passes_on(effect, function.args):
                continue
            if _same_meaning(program, program.paths[id(effect)], path, effect.func):
                given = "".join([program.text(effect.func), *mapped, *options, ", out_dims=None"])
                yield Edit(slicer.with_dead(Change(path, f"{program.text(call.func)}({given})")))


def _taking_nothing(program: Program, path: Path) -> Path | None:
    """The program's own function without inputs that is called by the expression at ``path``, and nowhere else."""
    node = program.node(path)
    through = isinstance(node, ast.Attribute) and node.attr == "apply"
    definition = definition_of(program, (*path, "value") if through else path)
    if definition is None or len(program.scopes.uses_of(definition)) != 1:
        return None
    own = isinstance(program.node(definition), ast.ClassDef)
    target = classes(program).method(definition, "forward") if through and own else definition
    function = program.node(target) if target is not None else None
    if not isinstance(function, ast.FunctionDef) or function.args.vararg is not None:
        return None
    return target if [a.arg for a in function.args.args] in ([], ["ctx"]) else None


def _same_meaning(program: Program, here: Path, there: Path, expression: ast.expr) -> bool:
    names = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name)}
    return all(program.scopes.lookup(here, name) == program.scopes.lookup(there, name) for name in names)


def _passes_on(call: ast.Call, parameters: ast.arguments) -> bool:
    names = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
    given = [a.id for a in call.args if isinstance(a, ast.Name)]
    return bool(names) and given == names and len(given) == len(call.args) and not call.keywords


@strategy("function-for-transformed", tier=Tier.MEDIUM)
def function_for_transformed(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a function that was running when it failed for the one that is transformed.

    ``vmap(f)(x)`` -> ``vmap(torch.op)(x)`` where ``f`` reached ``torch.op``; ``float``, ``bool`` and ``int`` for
    ``.item()`` and tests, ``max(x, y)`` among them. Only what was being evaluated at the failure is tried, if facts
    tell it.
    """
    slicer = Slicer(program)
    running = list(dict.fromkeys(_running(program, facts)))
    for path, node, _ in calls.transform_calls(program):
        if not node.args or "decorator_list" in path:
            continue
        old = program.text(node.args[0])
        within = None if facts.known else _definition(program, (*path, "args", 0))
        for text, source in running:
            if text == old or (source[: len(path)] == path and len(source) <= len(path) + 2):
                continue
            if within is not None and source[: len(within)] != within:
                continue
            here = (*path, "args", 0)
            if not _same_meaning(program, source, here, ast.parse(text, mode="eval").body):
                continue
            changes = slicer.with_dead(Change(here, text))
            if slicer.gain(changes) > 0:
                yield Edit(changes)


_BARE = ("sin", "add", "addcmul")  # an operation of one, two and three tensors


@strategy("operation-for-unentered", tier=Tier.MEDIUM)
def operation_for_unentered(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put an operation of torch's for a function that the transform never came to call.

    Example: ``vmap(model, in_dims=(0, 1, 0))(x, y)`` -> ``vmap(torch.add, in_dims=(0, 1, 0))(x, y)``.
    """
    slicer = Slicer(program)
    torch, imports = calls.torch_spelling(program)
    for path, node, name in calls.transform_calls(program):
        if not node.args or "decorator_list" in path or not facts.known:
            continue
        here = (*path, "args", 0)
        at = _definition(program, here)
        function = program.node(at)
        if isinstance(function, ast.FunctionDef | ast.Lambda):
            if facts.ran(function) if isinstance(function, ast.FunctionDef) else _entered(facts, at):
                continue
        elif calls.library_name(program, here) is not None or not isinstance(function, ast.ClassDef | ast.expr):
            continue
        given = len(node.args) - 1
        if name in calls.MAKERS:
            _, outer = program.parent(path)
            given = len(outer.args) if isinstance(outer, ast.Call) and path[-1] == "func" else 1
        elif name == "jvp" and len(node.args) > 1 and isinstance(node.args[1], ast.Tuple | ast.List):
            given = len(node.args[1].elts)
        for arity in dict.fromkeys((given, 1)):
            if 1 <= arity <= len(_BARE):
                changes = slicer.with_dead(Change(here, f"{torch}.{_BARE[arity - 1]}"))
                yield Edit(changes, imports)


def _entered(facts: Facts, path: Path) -> bool:
    """Whether anything below the lambda at ``path`` was evaluated."""
    inside = (*path, "body")
    return any(at[: len(inside)] == inside for at in facts.items())


def _definition(program: Program, path: Path) -> Path:
    """Path of the def that the name at ``path`` means; ``path`` itself for a lambda and all else."""
    node = program.node(path)
    binding = program.scopes.binding(path) if isinstance(node, ast.Name) else None
    places = program.scopes.definitions.get(binding, []) if binding is not None else []
    return places[0] if len(places) == 1 else path


_TESTING = frozenset({"max", "min", "sorted", "any", "all", "filter"})  # builtins that ask whether a value is true


def _tests(node: ast.AST) -> bool:
    """Whether ``node`` asks a value whether it is true."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Compare):
        return len(node.ops) > 1
    if isinstance(node, ast.comprehension):
        return bool(node.ifs)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _TESTING
    return isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert | ast.BoolOp)


def _converts(full: str) -> bool:
    """Whether the library's function makes Python numbers of the tensors that it is given."""
    return not full.startswith("torch.") or full in ("torch.tensor", "torch.as_tensor", "torch.full", "torch.arange")


def _running(program: Program, facts: Facts) -> Iterator[tuple[str, Path]]:
    """Functions of one tensor that may be where it failed: (text, path of the place)."""
    for path, node in reversed(list(program.walk())):
        if not isinstance(node, ast.Call) and not _tests(node):
            continue
        if facts.known:
            _, statement = program.statement_of(path)
            if facts.of(path) is not None or not facts.ran(statement):
                continue
        if program.enclosing(path, ast.FunctionDef, ast.Lambda) is None:
            continue
        if _tests(node):
            yield "bool", path
        if not isinstance(node, ast.Call):
            continue
        func = node.func
        if isinstance(func, ast.Name) and func.id in ("float", "int", "bool"):
            yield func.id, path
        elif isinstance(func, ast.Attribute) and func.attr in ("item", "tolist"):
            yield "float", path
        elif calls.library_name(program, (*path, "func")) is not None:
            if _converts(calls.callee(program, path) or ""):
                yield "float", path
            if calls.transform_name(calls.callee(program, path)) is None:
                yield program.text(func), path
        elif isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and facts.known:
            torch, _ = calls.torch_spelling(program)
            seen = facts.of((*path, "func", "value"))
            if seen is not None and seen.kind == "tensor":
                yield f"{torch}.{func.attr}", path
            elif func.attr == "apply":
                yield program.text(func), path
        elif isinstance(func, ast.Name):
            yield func.id, path


STRATEGIES = (function_for_transformed, operation_for_unentered, eta_reduce, effect_for_function)

"""What a failed check rests on: does it still compare anything, and does that owe anything to a transform?

Decision: dependence is followed by name alone, through every assignment, call, attribute and definition of that name,
and so errs on the side of the candidate. What is refused compares nothing, or what no transform can have touched.
"""

from __future__ import annotations

import ast
from collections import defaultdict

TRANSFORMS = frozenset(
    {"vmap", "grad", "grad_and_value", "vjp", "jvp", "linearize", "jacrev", "jacfwd", "hessian", "jacobian", "vhp",
     "hvp", "functionalize", "compile", "optimize", "chunk_vmap", "make_dual", "unpack_dual",
     "backward", "dual_level"}
)  # fmt: skip


COMPARISONS = frozenset(
    {"allclose", "assert_close", "isclose", "equal", "eq", "ne", "assert_allclose", "array_equal", "assert_equal",
     "assert_array_equal", "assert_array_almost_equal", "assertEqual", "assertTrue", "assertAlmostEqual"}
)  # fmt: skip

TRANSFORM = "a transform"
COMPARISON = "a comparison"


def traits(source: str, line: int) -> frozenset[str]:
    """What the failed check at ``line`` rests on, in itself or in what its names stand for: a transform, a
    comparison, both or neither."""
    tree = ast.parse(source)
    meanings = _meanings(tree)
    waiting = _failing_parts(tree, line)
    seen: set[str] = set()
    met: set[ast.AST] = set()
    found: set[str] = set()
    while waiting and len(found) < 2:
        node = waiting.pop()
        if node in met:
            continue
        met.add(node)
        if TRANSFORM not in found and _names_one_of(TRANSFORMS, node, meanings):
            found.add(TRANSFORM)
        if COMPARISON not in found and (_compares(node) or _names_one_of(COMPARISONS, node, meanings)):
            found.add(COMPARISON)
        for name in _names(node) - seen:
            seen.add(name)
            waiting.extend(meanings[name])
    return frozenset(found)


def raises(source: str, line: int) -> bool:
    """Whether the innermost statement at ``line`` is a ``raise``."""
    return any(isinstance(part, ast.Raise) for part in _failing_parts(ast.parse(source), line)[:1])


def _failing_parts(tree: ast.Module, line: int) -> list[ast.AST]:
    """The innermost statement that covers the line, and the conditions that it stands under."""
    covering = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    covering.sort(key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
    conditions = [node.test for node in covering[1:] if isinstance(node, ast.If | ast.While)]
    return [*covering[:1], *conditions]


def _names_one_of(wanted: frozenset[str], node: ast.AST, meanings: defaultdict[str, list[ast.AST]]) -> bool:
    """Whether one of the ``wanted`` library names stands in ``node``; a variable of the program's so called is none."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in wanted:
            return True
        if isinstance(part, ast.alias) and part.name in wanted:
            return True
        if isinstance(part, ast.Name) and part.id in wanted and part.id not in meanings:
            return True
    return False


def _compares(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Compare) for part in ast.walk(node))


def _names(node: ast.AST) -> set[str]:
    """All names and attributes in ``node``."""
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute)
    }


def _meanings(tree: ast.Module) -> defaultdict[str, list[ast.AST]]:
    """What each name stands for or takes values from: assigned values, definitions, arguments, loops' iterables."""
    meanings: defaultdict[str, list[ast.AST]] = defaultdict(list)
    modules: set[str] = set()

    def bind(target: ast.AST, *values: ast.AST | None) -> None:
        for name in _names(target):
            meanings[name].extend(value for value in values if value is not None)

    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                bind(target, node.value)
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            bind(node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            bind(node.target, node.iter)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            bind(node.optional_vars, node.context_expr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                modules.add(name)
                meanings[name].append(alias)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            meanings[node.name].append(node)
    _bind_parameters(tree, meanings)
    for node in ast.walk(tree):
        method = node.func if isinstance(node, ast.Call) else None  # results.append(value)
        if isinstance(method, ast.Attribute) and not _names(method.value) & modules:
            bind(method.value, node)
    return meanings


def _bind_parameters(tree: ast.Module, meanings: defaultdict[str, list[ast.AST]]) -> None:
    """A parameter takes its values from the calls of its function; where these have no name, from any call."""
    calls: list[ast.Call] = []
    by_name: defaultdict[str, list[ast.Call]] = defaultdict(list)  # a function that is handed on may be called there
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    of_lambdas: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            calls.append(node)
            for name in _names(node.func) | _passed(node):
                by_name[name].append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(node)
        elif isinstance(node, ast.Lambda):
            of_lambdas.update(_parameters(node.args))
    for function in functions:
        for parameter in _parameters(function.args) - of_lambdas:
            meanings[parameter].extend(by_name[function.name])
    for parameter in of_lambdas:
        meanings[parameter].extend(calls)


def _parameters(arguments: ast.arguments) -> set[str]:
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [part for part in (arguments.vararg, arguments.kwarg) if part is not None]
    return {parameter.arg for parameter in parameters}


def _passed(call: ast.Call) -> set[str]:
    """The names handed on in a call: a function among them may be called with anything there."""
    return set().union(*(_names(part) for part in [*call.args, *(k.value for k in call.keywords)]), set())

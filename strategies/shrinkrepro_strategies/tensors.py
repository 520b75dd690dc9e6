"""Tensors: plainer ones, made in a plainer way.

Decision: what makes a tensor special (its dtype, device, layout, gradient, seed) goes one property at a time, each
to the value that torch takes by itself; an operation goes for an operand of the same shape, if facts tell it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls, selections
from shrinkrepro_strategies.slices import Slicer

# Constructors from a size, with what is plainer, plainest first.
_LADDER = {
    "zeros": (),
    "ones": ("zeros",),
    "empty": ("ones", "zeros"),
    "rand": ("ones", "zeros"),
    "randn": ("ones", "zeros", "rand"),
}
SIZED = frozenset(f"torch.{name}" for name in _LADDER)  # what makes a tensor from its sizes alone
_LIKE = {"zeros_like": "zeros", "ones_like": "ones", "randn_like": "ones", "rand_like": "ones", "empty_like": "zeros"}
_NO_OPS = re.compile(
    r"(clone|detach|contiguous|requires_grad_|eval|train|float|double|half|bfloat16|to|cuda|cpu|type_as|type|"
    r"long|int|pin_memory|share_memory_|coalesce|to_dense|squeeze|unsqueeze|flatten|ravel|view_as|expand_as|"
    r"retain_grad|manual_seed|numpy|abs|conj|resolve_conj|resolve_neg)$"
)
_PROPERTIES = frozenset(
    {"dtype", "device", "requires_grad", "generator", "layout", "pin_memory", "memory_format", "non_blocking", "copy",
     "sparse_grad", "out"}
)  # fmt: skip
_PYTHON_TYPES = {
    f"torch.{name}": python
    for python, names in {
        "float": ("float64", "double", "float16", "half", "bfloat16"),
        "int": ("int64", "long", "int32", "int", "int16", "int8", "uint8"),
        "complex": ("complex64", "complex128", "cfloat", "cdouble"),
        "bool": ("bool",),
    }.items()
    for name in names
}
_SETTERS = re.compile(
    r"torch\.(manual_seed|seed|set_default_dtype|set_default_device|set_num_threads|set_printoptions|"
    r"use_deterministic_algorithms|random\.manual_seed|cuda\.\w+|backends\.\w+(\.\w+)*|set_float32_matmul_precision|"
    r"autograd\.set_detect_anomaly|_dynamo\.reset|_dynamo\.config\.\w+|set_grad_enabled)$"
)
_CONTEXTS = re.compile(
    r"torch\.(no_grad|enable_grad|inference_mode|set_grad_enabled|autograd\.set_detect_anomaly|autograd\.detect_anomaly|"
    r"random\.fork_rng|device|autograd\.set_multithreading_enabled|autograd\.profiler\.\w+|profiler\.\w+|no_grad|"
    r"autograd\.graph\.\w+|nn\.utils\.parametrize\.cached)$"
)


@strategy("plainer-tensor", tier=Tier.FINE, independent=True)
def plainer_tensor(program: Program, facts: Facts) -> Iterator[Edit]:
    """Fill a tensor more plainly: ``randn`` -> ``ones`` -> ``zeros``; ``ones_like(x)`` -> ``ones(2, 3)`` or ``x``.

    A square matrix that is written out becomes ``eye(2)``.
    """
    for path, node, full in calls.calls_of(program, "torch."):
        name = full[len("torch.") :]
        extra = [i for i, w in enumerate(node.keywords) if w.arg == "generator"]
        for plainer in _LADDER.get(name, ()):
            changes = _renamed(program, path, node, plainer)
            yield Edit((*changes, *(Change((*path, "keywords", i)) for i in extra)))
        rows = _square(node) if name == "tensor" else 0
        if rows:
            options = "".join(f", {program.text(word)}" for word in node.keywords)
            yield Edit((Change(path, f"{calls.torch_spelling(program)[0]}.eye({rows}{options})"),))
        if name in _LIKE and node.args:
            yield Edit((Change(path, program.text(node.args[0])),))
            fact = facts.of((*path, "args", 0))
            if fact is not None and fact.kind == "tensor" and fact.shape:
                size = ", ".join(map(str, fact.shape))
                yield Edit((Change(path, f"{calls.torch_spelling(program)[0]}.{_LIKE[name]}({size})"),))


def _square(node: ast.Call) -> int:
    """The rows of the square matrix that a call is given as lists; 0 where it is given something else."""
    matrix = node.args[0] if len(node.args) == 1 else None
    rows = matrix.elts if isinstance(matrix, ast.List) else []
    same = all(isinstance(row, ast.List) and len(row.elts) == len(rows) for row in rows)
    return len(rows) if same and len(rows) > 1 else 0


def _renamed(program: Program, path: Path, node: ast.Call, name: str) -> tuple[Change, ...]:
    if isinstance(node.func, ast.Attribute):
        return (Change((*path, "func", "attr"), name),)
    torch, _ = calls.torch_spelling(program)
    return (Change((*path, "func"), f"{torch}.{name}"),)


_INTEGERS = ("0", "1")
_NUMBERS = {"int": _INTEGERS, "int64": _INTEGERS, "long": _INTEGERS, "bool": ("False", "True")}  # by dtype: zero, one


@strategy("fewer-dimensions", tier=Tier.FINE)
def fewer_dimensions(program: Program, facts: Facts) -> Iterator[Edit]:
    """Take dimensions from a constructor: ``ones(2, 3)`` -> ``ones(3)`` -> ``tensor(1.0)``.

    Example: ``torch.zeros(1, dtype=int)`` -> ``torch.tensor(0)``.
    """
    torch, imports = calls.torch_spelling(program)
    for path, node, full in calls.calls_of(program, "torch."):
        name = full[len("torch.") :]
        if name not in _LADDER or not node.args or any(isinstance(a, ast.Starred) for a in node.args):
            continue
        sizes: list[ast.expr] = list(node.args)
        at: Path = (*path, "args")
        if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
            at, sizes = (*path, "args", 0, "elts"), list(sizes[0].elts)
            if sizes:
                yield Edit((Change(path, _call(program, node, sizes)),))
        dtype = next((program.text(w.value).rpartition(".")[2] for w in node.keywords if w.arg == "dtype"), "")
        plain = _NUMBERS.get(dtype)  # a number has its dtype
        dropped = ("generator", "dtype") if plain else ("generator",)
        options = "".join(f", {program.text(w)}" for w in node.keywords if w.arg not in dropped)
        number = (plain or ("0.0", "1.0"))[name != "zeros"]
        yield Edit((Change(path, f"{torch}.tensor({number}{options})"),), imports)
        if len(sizes) > 1:
            for i in range(len(sizes)):
                yield Edit((Change((*at, i)),))
    yield from _all_at_once(program)


def _call(program: Program, node: ast.Call, sizes: list[ast.expr]) -> str:
    arguments = [program.text(s) for s in sizes] + [program.text(w) for w in node.keywords]
    return f"{program.text(node.func)}({', '.join(arguments)})"


def _all_at_once(program: Program) -> Iterator[Edit]:
    """Every constructor loses its first, or its last, dimension."""
    for index in (0, -1):
        changes: list[Change] = []
        for path, node, full in calls.calls_of(program, "torch."):
            if full[len("torch.") :] in _LADDER and len(node.args) > 1:
                changes.append(Change((*path, "args", index % len(node.args))))
        if len(changes) > 1:
            yield Edit(tuple(changes))


@strategy("default-tensor-properties", tier=Tier.MEDIUM, independent=True)
def default_tensor_properties(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop dtype, device, requires_grad, generator and the like of a call."""
    for path, node in program.walk(ast.keyword):
        if node.arg in _PROPERTIES:
            yield Edit((Change(path),))


@strategy("python-dtype", tier=Tier.FINE, independent=True)
def python_dtype(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put Python's own type for a dtype: ``torch.float64`` -> ``float``, ``torch.complex64`` -> ``complex``."""
    for path, node in program.walk(ast.Attribute):
        full = calls.library_name(program, path) or ""
        if isinstance(node.ctx, ast.Load) and full in _PYTHON_TYPES:
            yield Edit((Change(path, _PYTHON_TYPES[full]),))


@strategy("drop-conversion", tier=Tier.MEDIUM, independent=True)
def drop_conversion(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop a method call that gives its own tensor back in another guise: clone, detach, to, double, eval, ..."""
    for path, node in program.walk(ast.Call):
        if not isinstance(node.func, ast.Attribute) or not _NO_OPS.match(node.func.attr):
            continue
        if calls.callee(program, path) is None:
            yield Edit((Change(path, program.text(node.func.value)),))
    for path, view in program.walk(ast.Attribute):
        if view.attr in ("data", "T", "mT", "real", "mH", "H", "values", "indices") and isinstance(view.ctx, ast.Load):
            _, parent = program.parent(path)
            if not (isinstance(parent, ast.Call) and path[-1] == "func") and calls.library_name(program, path) is None:
                yield Edit((Change(path, program.text(view.value)),))


@strategy("drop-setting", tier=Tier.COARSE, independent=True)
def drop_setting(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop seeds, default dtypes, backend flags and other global settings."""
    for path, _node, full in calls.calls_of(program, "torch."):
        at, statement = program.statement_of(path)
        if isinstance(statement, ast.Expr) and _SETTERS.match(full):
            yield Edit((Change(at),))
    for path, assignment in program.walk(ast.Assign):
        target = assignment.targets[0]
        if isinstance(target, ast.Attribute):
            full = calls.library_name(program, (*path, "targets", 0)) or ""
            if (full.startswith("torch.") and ".config." in full) or full.startswith("torch.backends."):
                yield Edit((Change(path),))


@strategy("unwrap-grad-mode", tier=Tier.MEDIUM, independent=True)
def unwrap_grad_mode(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop no_grad, inference_mode, set_grad_enabled, anomaly and profiler contexts and decorators."""
    for path, node in program.walk(ast.With):
        for i, item in enumerate(node.items):
            target: Path = (*path, "items", i, "context_expr")
            if isinstance(item.context_expr, ast.Call):
                target = (*target, "func")
            if _CONTEXTS.match(calls.library_name(program, target) or ""):
                yield Edit((Change((*path, "items", i)),))
    for path, cls in program.walk(ast.FunctionDef):
        for i, decorator in enumerate(cls.decorator_list):
            at: Path = (*path, "decorator_list", i)
            target = (*at, "func") if isinstance(decorator, ast.Call) else at
            if _CONTEXTS.match(calls.library_name(program, target) or ""):
                yield Edit((Change(at),))


@strategy("operand-for-operation", tier=Tier.MEDIUM)
def operand_for_operation(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put an operand of the same shape for a tensor operation: ``torch.tanh(x @ w)`` -> ``x @ w`` -> ``x``.

    By facts; the operand may lie a few operations down.
    """
    slicer = Slicer(program)
    for path, node in program.walk(ast.Call, ast.BinOp, ast.UnaryOp, ast.Subscript):
        fact = facts.of(path)
        if fact is None or fact.kind != "tensor" or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            continue
        found = 0
        for below in operands(path, node, 3):
            seen = facts.of(below)
            if seen is None or seen.kind != "tensor" or seen.shape != fact.shape:
                continue
            yield Edit(slicer.with_dead(Change(path, program.text(program.node(below)))))
            found += 1
            if found == 3:
                break


def operands(path: Path, node: ast.expr, depth: int) -> Iterator[Path]:
    """Paths of what ``node`` works on, the deepest first."""
    children: list[tuple[Path, ast.expr]] = []
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            children.append(((*path, "func", "value"), node.func.value))
        for i, argument in enumerate(node.args):
            if isinstance(argument, ast.List | ast.Tuple):
                children.extend(((*path, "args", i, "elts", k), e) for k, e in enumerate(argument.elts))
            elif not isinstance(argument, ast.Starred):
                children.append(((*path, "args", i), argument))
    elif isinstance(node, ast.BinOp):
        children = [((*path, "left"), node.left), ((*path, "right"), node.right)]
    elif isinstance(node, ast.UnaryOp):
        children = [((*path, "operand"), node.operand)]
    elif isinstance(node, ast.Subscript):
        children = [((*path, "value"), node.value)]
    if depth > 1:
        for below, child in children:
            yield from operands(below, child, depth - 1)
    for below, _ in children:
        yield below


@strategy("simpler-operation", tier=Tier.FINE)
def simpler_operation(program: Program, facts: Facts) -> Iterator[Edit]:
    """Write an operation more simply: ``einsum`` -> ``@``, ``x.mul_(y)`` -> ``x.mul(y)``, ``x[i] = y`` -> ``copy_``.

    ``torch.stack`` and ``torch.cat`` of one tensor -> ``x[None]`` and ``x``.
    """
    for path, store in program.walk(ast.Assign):
        target = store.targets[0]
        if len(store.targets) == 1 and isinstance(target, ast.Subscript):
            yield Edit((Change(path, f"{program.text(target.value)}.copy_({program.text(store.value)})"),))
    for path, node in program.walk(ast.Call):
        full = calls.callee(program, path)
        if full == "torch.einsum" and len(node.args) == 3:
            left, right = (f"({program.text(a)})" for a in node.args[1:])
            yield Edit((Change(path, f"{left} @ {right}"),))
        elif full in ("torch.matmul", "torch.mm", "torch.bmm", "torch.mv") and len(node.args) == 2:
            left, right = (f"({program.text(a)})" for a in node.args)
            yield Edit((Change(path, f"{left} @ {right}"),))
        elif full in ("torch.stack", "torch.cat") and len(node.args) == 1 and not node.keywords:
            only = node.args[0]
            if isinstance(only, ast.List | ast.Tuple) and len(only.elts) == 1:
                part = program.text(only.elts[0])
                yield Edit((Change(path, f"({part})[None]" if full == "torch.stack" else part),))
        elif isinstance(node.func, ast.Attribute) and full is None:
            name = node.func.attr
            if name.endswith("_") and not name.startswith("_") and name not in ("requires_grad_",):
                yield Edit((Change((*path, "func", "attr"), name.rstrip("_")),))


STRATEGIES = (
    drop_setting,
    unwrap_grad_mode,
    default_tensor_properties,
    python_dtype,
    drop_conversion,
    operand_for_operation,
    *selections.STRATEGIES,
    simpler_operation,
    fewer_dimensions,
    plainer_tensor,
)

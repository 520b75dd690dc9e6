"""Leaves and shared names: a tensor of its own for what is differentiated, one name for what stands twice.

Decision: such a tensor is a literal of the module, assigned before the statement that needs it; it depends on nothing,
so it may stand there wherever it is read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import ExprFact, Facts
from shrinkrepro.core.program import Program, parse_expression
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.descriptions import sources
from shrinkrepro_strategies.rewriting import Rewrite, fresh
from shrinkrepro_strategies.slices import Slicer
from shrinkrepro_strategies.tensors import SIZED, operands
from shrinkrepro_strategies.values import is_constructor

_PLACES = 4  # expressions that the derivative may be taken with respect to, for each call
_INPUTS = SIZED | {"torch.tensor"}
_INPUTS_TRIED = 4  # tensors of a program that are given a gradient in turn
_OTHER_FILL = MappingProxyType({"ones": "zeros", "zeros": "ones", "randn": "ones"})
_FLOATING = ("float", "bfloat", "double", "half", "complex")


@strategy("leaf-for-differentiated", tier=Tier.MEDIUM)
def leaf_for_differentiated(program: Program, facts: Facts) -> Iterator[Edit]:
    """Differentiate with respect to a tensor of its own, put in the place of something on the way to the output.

    Example: ``torch.autograd.grad(f(model(x)), model.parameters(), v)`` -> ``y = torch.ones(2, 3,
    requires_grad=True)`` and ``torch.autograd.grad(f(y), y, v)``.
    """
    slicer = Slicer(program)
    torch, imports = calls.torch_spelling(program)
    for path, call, _ in calls.calls_of(program, "torch.autograd.grad"):
        outputs, inputs = _words(path, call, "outputs", 0), _words(path, call, "inputs", 1)
        if outputs is None or inputs is None or any(isinstance(a, ast.Starred) for a in call.args):
            continue
        found = []
        for at, fact in facts.items().items():
            if at[: len(outputs)] != outputs or at == outputs or fact.kind != "tensor" or is_constructor(program, at):
                continue
            if str(fact.value.get("dtype", "")).startswith(_FLOATING) and fact.value.get("grad"):
                found.append((-fact.order, at))
        for _, at in sorted(found, key=lambda item: item[0])[:_PLACES]:
            if isinstance(program.node(at), ast.Name) and program.text(program.node(at)) == _text(program, inputs):
                continue
            seen = facts.of(at)
            assert seen is not None
            name = fresh("y", set(program.scopes.all_names()))
            for text in sources({**seen.value, "levels": 0, "grad": True}, torch, 2):
                yield _named(program, slicer, name, text, [at, inputs], imports)


def _words(path: Path, call: ast.Call, name: str, index: int) -> Path | None:
    """Path of the argument ``name`` of ``call``, which may stand at ``index``."""
    if index < len(call.args):
        return (*path, "args", index)
    found = calls.keyword(call, name)
    return (*path, "keywords", found[0], "value") if found is not None else None


def _text(program: Program, path: Path) -> str:
    node = program.node(path)
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == 1:
        node = node.elts[0]
    return program.text(node)


def _named(
    program: Program, slicer: Slicer, name: str, text: str, places: list[Path], imports: tuple[str, ...]
) -> Edit:
    """``name = text`` before the first statement of the module that holds one of ``places``, which read ``name``."""
    rewrite = Rewrite(program)
    for change in slicer.with_dead(*(Change(place, name) for place in places)):
        if change.text is None:
            rewrite.delete(change.path)
        else:
            rewrite.replace(change.path, ast.Name(name, ast.Load()))
    first = min(places, key=lambda place: int(place[1]))[:2]
    rewrite.before(first, [ast.Assign([ast.Name(name, ast.Store())], parse_expression(text))])
    rewrite.imports.extend(imports)
    return rewrite.edit()


@strategy("gradient-for-operation", tier=Tier.MEDIUM)
def gradient_for_operation(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put an operand for an operation that made a tensor need a gradient, and give an input that need itself.

    Example: ``f(model(x))`` with ``x = torch.ones(2)`` -> ``f(x)`` with ``x = torch.ones(2, requires_grad=True)``.
    """
    inputs = [
        path for path, _, full in calls.calls_of(program, "torch.") if full in _INPUTS and _is_plain(program, path)
    ]
    if not inputs or len(inputs) > _INPUTS_TRIED:
        return
    slicer = Slicer(program)
    for path, node in program.walk(ast.Call, ast.BinOp):
        fact = facts.of(path)
        if fact is None or fact.kind != "tensor" or not _needed(fact) or path in inputs:
            continue
        for below in operands(path, node, 2):
            seen = facts.of(below)
            if seen is None or seen.kind != "tensor" or seen.shape != fact.shape or _needed(seen):
                continue
            for some in dict.fromkeys([*((one,) for one in inputs), tuple(inputs)]):
                yield _needing(program, slicer, path, below, some)
                yield _needing(program, slicer, path, below, some, _OTHER_FILL)


def _needed(fact: ExprFact) -> bool:
    """Whether a gradient was needed in any evaluation: a transform may hide that it is."""
    return any(value.get("grad") for value in (fact.value, *fact.later))


def _is_plain(program: Program, path: Path) -> bool:
    """Whether the constructor at ``path`` makes a tensor of floating numbers that needs no gradient yet."""
    call = program.node(path)
    assert isinstance(call, ast.Call)
    words = {word.arg: program.text(word.value) for word in call.keywords}
    return "requires_grad" not in words and not words.get("dtype", "").endswith(("int", "bool", "long"))


def _needing(
    program: Program,
    slicer: Slicer,
    path: Path,
    operand: Path,
    inputs: tuple[Path, ...],
    fills: Mapping[str, str] = MappingProxyType({}),
) -> Edit:
    """``operand`` for the operation at ``path``, and ``inputs`` that need a gradient, filled as ``fills`` says.

    What the operation gave differs from its operand: with another number in it, a comparison may still fail.
    """
    rewrite = Rewrite(program)
    for at in inputs:
        call = program.node(at)
        assert isinstance(call, ast.Call)
        need = ast.keyword("requires_grad", ast.Constant(True))
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in fills:
            func = ast.Attribute(func.value, fills[func.attr], ast.Load())
        rewrite.replace(at, ast.Call(func, call.args, [*call.keywords, need]))
    node = rewrite.copy(operand)
    for change in slicer.with_dead(Change(path, program.text(program.node(operand)))):
        if change.text is None:
            rewrite.delete(change.path)
    rewrite.replace(path, node)
    return rewrite.edit()


@strategy("name-for-repeated", tier=Tier.FINE)
def name_for_repeated(program: Program, facts: Facts) -> Iterator[Edit]:
    """Give what is written several times one name, where that is less to read.

    Constructors of tensors and modules from literals, outermost ones. Example: ``f(torch.ones(1, 3), torch.ones(1,
    3))`` -> ``x = torch.ones(1, 3)`` and ``f(x, x)``.
    """
    slicer = Slicer(program)
    found: dict[str, list[Path]] = {}
    for path, node in program.walk(ast.Call):
        if _is_closed(program, path, node) and "decorator_list" not in path:
            found.setdefault(program.text(node), []).append(path)
    for text, places in found.items():
        size = program.size(places[0])
        if len(places) * (size - 1) <= size + 2:
            continue
        name = fresh("x", set(program.scopes.all_names()))
        yield _named(program, slicer, name, text, places, ())


def _is_closed(program: Program, path: Path, node: ast.Call) -> bool:
    """Whether the call makes a thing of the library from literals alone."""
    full = calls.callee(program, path)
    if full is None or not full.startswith("torch.") or full.startswith("torch.utils."):
        return False
    values = [*node.args, *(word.value for word in node.keywords)]
    for below in (inner for value in values for inner in ast.walk(value)):
        if isinstance(below, ast.Name) and not _is_module_name(program, program.paths[id(below)], below):
            return False
        if isinstance(below, ast.Starred | ast.Lambda | ast.NamedExpr):
            return False
    return True


def _is_module_name(program: Program, path: Path, node: ast.Name) -> bool:
    """Whether the name is Python's own or one that the module imports."""
    binding = program.scopes.binding(path)
    if binding is None:
        return node.id in ("int", "float", "bool", "complex")
    return all(isinstance(program.node(d), ast.alias) for d in program.scopes.definitions.get(binding, ()))


STRATEGIES = (leaf_for_differentiated, gradient_for_operation, name_for_repeated)

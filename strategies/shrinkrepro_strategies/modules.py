"""Modules: fewer layers, no training, no plumbing of parameters.

Decision: a layer goes together with the sizes that it joined, an optimiser with every statement that feeds it.
What a user's own class does is the business of classes and objects; here are torch.nn's own things.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls, functional_modules
from shrinkrepro_strategies.slices import Slicer
from shrinkrepro_strategies.tensors import SIZED

# Layers whose first two arguments are the sizes they take and give.
_SIZED = re.compile(r"torch\.nn\.(Linear|Conv\dd|ConvTranspose\dd|GRU|LSTM|RNN|GRUCell|LSTMCell|RNNCell|Embedding)$")
_SPATIAL = re.compile(r"torch((?:\.\w+)+)\.\w+?([23])d")
_LOSSES = re.compile(r"torch\.nn\.functional\.\w*(loss|entropy|div|similarity|likelihood)\w*$")


@strategy("drop-layer", tier=Tier.MEDIUM, independent=True)
def drop_layer(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop a layer of a Sequential or a ModuleList; the next layer takes the size that it took."""
    for path, node in _sequences(program):
        place = _elements(path, node)
        for i, at in enumerate(place):
            changes = [Change(at)]
            taken = _in_size(program, at)
            following = next((p for p in place[i + 1 :] if _in_size(program, p) is not None), None)
            if taken is not None and following is not None:
                old = _in_size(program, following)
                if old is not None and old[1] != taken[1]:
                    changes.append(Change(old[0], taken[1]))
            if len(place) > 1:
                yield Edit(tuple(changes))
                if len(changes) > 1:
                    yield Edit((changes[0],))


@strategy("layer-for-sequence", tier=Tier.MEDIUM)
def layer_for_sequence(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put one layer for the whole Sequential that holds it."""
    slicer = Slicer(program)
    for path, node in _sequences(program):
        if calls.callee(program, path) != "torch.nn.Sequential":
            continue
        for at in _elements(path, node):
            layer = program.node(at)
            if not isinstance(layer, ast.Starred):
                yield Edit(slicer.with_dead(Change(path, program.text(layer))))


def _sequences(program: Program) -> Iterator[tuple[Path, ast.Call]]:
    for path, node, full in calls.calls_of(program, "torch.nn."):
        if full in ("torch.nn.Sequential", "torch.nn.ModuleList"):
            yield path, node


def _elements(path: Path, node: ast.Call) -> list[Path]:
    """Paths of the layers of a Sequential(a, b), Sequential(OrderedDict([..])) or ModuleList([..])."""
    if len(node.args) == 1:
        inner: Path = (*path, "args", 0)
        only = node.args[0]
        if isinstance(only, ast.Call) and only.args:
            inner, only = (*inner, "args", 0), only.args[0]
        if isinstance(only, ast.List | ast.Tuple):
            return [(*inner, "elts", i) for i in range(len(only.elts))]
    return [(*path, "args", i) for i in range(len(node.args))]


def _in_size(program: Program, path: Path) -> tuple[Path, str] | None:
    """Path and text of the size that the layer at ``path`` takes."""
    node = program.node(path)
    if isinstance(node, ast.Tuple) and len(node.elts) == 2:  # an OrderedDict's pair
        path, node = (*path, "elts", 1), node.elts[1]
    if not isinstance(node, ast.Call) or len(node.args) < 2 or not _SIZED.match(calls.callee(program, path) or ""):
        return None
    return (*path, "args", 0), program.text(node.args[0])


@strategy("call-module", tier=Tier.MEDIUM)
def call_module(program: Program, facts: Facts) -> Iterator[Edit]:
    """Call the module itself: ``functional_call(model, params, (x,))`` -> ``model(x)``."""
    slicer = Slicer(program)
    for path, node in program.walk(ast.Call):
        full = calls.callee(program, path) or ""
        if full.rpartition(".")[2] != "functional_call" or len(node.args) < 3:
            continue
        inputs = node.args[2]
        if isinstance(inputs, ast.Tuple):
            text = ", ".join(map(program.text, inputs.elts))
        else:
            text = program.text(inputs)
        yield Edit(slicer.with_dead(Change(path, f"{program.text(node.args[0])}({text})")))


@strategy("plain-layer", tier=Tier.FINE, independent=True)
def plain_layer(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop all keywords of a module's constructor at once."""
    for path, node, _ in calls.calls_of(program, "torch.nn."):
        if len(node.keywords) > 1:
            yield Edit(tuple(Change((*path, "keywords", i)) for i in range(len(node.keywords))))


@strategy("fewer-spatial-dimensions", tier=Tier.FINE)
def fewer_spatial_dimensions(program: Program, facts: Facts) -> Iterator[Edit]:
    """Take a layer of one dimension less everywhere, with inputs that have one or two less: ``BatchNorm2d`` -> ``1d``.

    Example: ``BatchNorm2d(2)(zeros(1, 2, 1, 2))`` -> ``BatchNorm1d(2)(zeros(1, 2))``.
    """
    torch, imports = calls.torch_spelling(program)
    layers: list[Change] = []
    most = 0
    for path, name in program.walk(ast.Attribute, ast.Name):
        full = calls.library_name(program, path) or ""
        found = _SPATIAL.fullmatch(full)
        if found is not None and isinstance(name.ctx, ast.Load):
            most = max(most, int(found[2]))
            where = program.text(name.value) if isinstance(name, ast.Attribute) else torch + found[1]
            layers.append(Change(path, f"{where}.{full.rpartition('.')[2][:-2]}{int(found[2]) - 1}d"))
    if not layers:
        return
    sized = [
        path
        for path, node, full in calls.calls_of(program, "torch.")
        if full in SIZED and most < len(node.args) <= most + 2
    ]
    for gone_of in (lambda n: range(n)[2:], lambda n: [0, *range(n)[2:-1]], lambda n: [n - 1]):
        gone: list[Change] = []
        for path in sized:
            call = program.node(path)
            assert isinstance(call, ast.Call)
            gone += [Change((*path, "args", i)) for i in gone_of(len(call.args))]
        yield Edit((*layers, *gone), imports)


@strategy("drop-training", tier=Tier.COARSE)
def drop_training(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop the optimisers, schedulers and scalers with every statement that uses them, with and without backward()."""
    backward = [
        path
        for path, node in program.walk(ast.Expr)
        if isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr in ("backward", "zero_grad", "step")
        and not node.value.args
    ]
    helpers: list[Path] = []
    for path, _, full in calls.calls_of(
        program, "torch.optim.", "torch.cuda.amp.", "torch.amp.", "torch.nn.utils.clip"
    ):
        at, statement = program.statement_of(path)
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr) and not full.endswith("autocast"):
            helpers.append(at)
            for definition in _targets(program, at, statement):
                helpers.extend(program.statement_of(use)[0] for use in program.scopes.uses_of(definition))
    whole = sorted({p for p in helpers if isinstance(program.node(p), ast.Expr | ast.Assign | ast.AnnAssign)}, key=str)
    if whole:
        yield Edit(tuple(Change(p) for p in dict.fromkeys([*whole, *backward])))
        yield Edit(tuple(map(Change, whole)))
    if backward:
        yield Edit(tuple(map(Change, backward)))


def _targets(program: Program, path: Path, statement: ast.stmt) -> Iterator[Path]:
    if isinstance(statement, ast.Assign):
        for i, target in enumerate(statement.targets):
            if isinstance(target, ast.Name):
                yield (*path, "targets", i)
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield (*path, "target")


@strategy("sum-for-loss", tier=Tier.MEDIUM)
def sum_for_loss(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put ``x.sum()`` for a loss, mean or norm of ``x``: a scalar is all that a gradient needs."""
    slicer = Slicer(program)
    for path, node in program.walk(ast.Call):
        full = calls.callee(program, path) or ""
        fact = facts.of(path)
        scalar = fact is not None and fact.kind == "tensor" and fact.shape == ()
        method = isinstance(node.func, ast.Attribute) and node.func.attr == "sum"
        if method or not (_LOSSES.match(full) or scalar):
            continue
        operands: list[ast.expr] = list(node.args)
        if isinstance(node.func, ast.Attribute) and not full:
            seen = facts.of((*path, "func", "value"))
            if seen is not None and seen.kind == "tensor":
                operands.insert(0, node.func.value)
        for operand in operands[:2]:
            if not isinstance(operand, ast.Starred | ast.Constant):
                text = program.text(operand)
                plain = isinstance(operand, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
                yield Edit(slicer.with_dead(Change(path, f"{text}.sum()" if plain else f"({text}).sum()")))


STRATEGIES = (
    drop_training,
    layer_for_sequence,
    drop_layer,
    call_module,
    *functional_modules.STRATEGIES,
    sum_for_loss,
    plain_layer,
    fewer_spatial_dimensions,
)

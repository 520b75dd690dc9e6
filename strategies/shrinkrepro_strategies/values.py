"""Values for expressions: what an expression was seen to be, in the place of the code that computes it.

Decision: a replacement takes with it, in the same edit, all that only fed the expression; so the largest producer
goes first and one query cuts a whole pipeline away. Values come from the facts alone: without facts there are none.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import ExprFact, Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.scopes import Binding
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls, distil, failed
from shrinkrepro_strategies.descriptions import first_tensor, sources
from shrinkrepro_strategies.slices import Slicer

_CONSTRUCTORS = ("ones", "zeros", "tensor", "randn", "eye", "full", "arange", "rand")
_LITERALS = (ast.Constant, ast.UnaryOp, ast.JoinedStr, ast.Lambda)


@strategy("one-for-number", tier=Tier.COARSE)
def one_for_number(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make a number that a variable holds 1, in programs whose own check failed: all such numbers, then each.

    Early, while what is expected is still computed from it: ``ell = 0.8`` with ``want = 2 / ell ** 2``.
    """
    if next(failed.failed_checks(program, facts), None) is None:
        return
    found: list[Change] = []
    for path, node in program.walk(ast.Assign):
        for target, value, at in _pairs(path, node):
            number = value.value if isinstance(value, ast.Constant) else None
            if isinstance(target, ast.Name) and isinstance(number, float) and number not in (0, 1, math.inf):
                found.append(Change(at, "1"))
    if len(found) > 1:
        yield Edit(tuple(found))
    for change in found:
        yield Edit((change,))


def _pairs(path: Path, node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr, Path]]:
    """The targets of an assignment with what each gets and where that stands."""
    for target in node.targets:
        yield target, node.value, (*path, "value")
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for i, (one, value) in enumerate(zip(target.elts, node.value.elts)):
                yield one, value, (*path, "value", "elts", i)


@strategy("constant-for-expression", tier=Tier.COARSE, independent=True)
def constant_for_expression(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the constant that an expression was seen to be in its place.

    One edit for every outermost such expression longer than its constant. Example: ``cfg.width * 2`` -> ``16``.
    """
    taken: set[Path] = set()
    live = failed.compared(program, facts)
    for path, node in program.walk(ast.expr):
        fact = facts.of(path)
        if fact is None or fact.kind != "const" or not _steady(fact) or isinstance(node, _LITERALS):
            continue
        if isinstance(node, ast.Name) or _inside(taken, path) or not _replaceable(program, path, node):
            continue
        if live is not None and live.transformed(path):
            continue
        text = sources(fact.value, most=1)
        if text and len(text[0]) <= 40 and text[0] != program.text(node):
            taken.add(path)
            yield Edit((Change(path, text[0]),))


@strategy("constant-for-name", tier=Tier.MEDIUM, independent=True)
def constant_for_name(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the constant that a variable always was in the place of all its uses, and drop the variable."""
    slicer = Slicer(program)
    live = failed.compared(program, facts)
    for uses in program.scopes.uses.values():
        if live is not None and live.transformed(uses[0]):
            continue
        seen = [facts.of(use) for use in uses]
        known = [f for f in seen if f is not None]
        if not known or any(f.kind != "const" or not _steady(f) or f.value != known[0].value for f in known):
            continue
        text = sources(known[0].value, most=1)
        if not text or len(text[0]) > 40:
            continue
        changes = slicer.with_dead(*(Change(use, text[0]) for use in uses))
        if len(changes) > len(uses):
            yield Edit(changes)


@strategy("value-for-assignment", tier=Tier.COARSE)
def value_for_assignment(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a small literal of the same shape and dtype for what is assigned or returned, and drop what fed it.

    At most three edits a statement. Example: ``x = encoder(load(path))`` -> ``x = torch.ones(2, 3)``.
    """
    slicer = Slicer(program)
    torch, imports = calls.torch_spelling(program)
    live = failed.compared(program, facts)
    for path, node in program.walk(ast.Assign, ast.AnnAssign, ast.Return):
        if live is not None and live.transformed(path):
            continue
        value = getattr(node, "value", None)
        at = (*path, "value")
        fact = facts.of(at)
        if value is None or fact is None or fact.kind == "const" or is_constructor(program, at):
            continue
        for text in sources(fact.value, torch, 3 if _steady(fact) else 1):
            yield from _proposal(program, slicer, at, text, imports)
    yield from _unpacked(program, facts, slicer, torch, imports)


def _unpacked(program: Program, facts: Facts, slicer: Slicer, torch: str, imports: tuple[str, ...]) -> Iterator[Edit]:
    """``x, y = big()`` -> one assignment for each name that is used, by the facts of its first use."""
    for path, node in program.walk(ast.Assign):
        target = node.targets[0]
        if len(node.targets) != 1 or not isinstance(target, ast.Tuple | ast.List):
            continue
        lines: list[str] = []
        for i, element in enumerate(target.elts):
            if not isinstance(element, ast.Name):
                break
            uses = program.scopes.uses_of((*path, "targets", 0, "elts", i))
            if not uses:
                continue
            fact = next((f for f in map(facts.of, uses) if f is not None), None)
            text = sources(fact.value, torch, 1) if fact is not None else []
            if not text:
                break
            lines.append(f"{element.id} = {text[0]}")
        else:
            yield Edit(slicer.with_dead(Change(path, "\n".join(lines))), imports)


@strategy("value-for-argument", tier=Tier.MEDIUM)
def value_for_argument(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a small literal of the same shape and dtype for an argument, and drop what only fed it.

    At most two edits an argument; only where the slice that goes is longer than the literal.
    """
    slicer = Slicer(program)
    torch, imports = calls.torch_spelling(program)
    live = failed.compared(program, facts)
    for path, node in program.walk(ast.Call):
        for at in [(*path, "args", i) for i in range(len(node.args))] + [
            (*path, "keywords", i, "value") for i in range(len(node.keywords))
        ]:
            fact = facts.of(at)
            if fact is None or fact.kind == "const" or is_constructor(program, at):
                continue
            if live is not None and live.transformed(at):
                continue
            for text in sources(fact.value, torch, 2 if _steady(fact) else 1):
                yield from _proposal(program, slicer, at, text, imports)


@strategy("value-for-attribute", tier=Tier.MEDIUM)
def value_for_attribute(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a small tensor for every load of an attribute, and drop what stored it, entries of a state included.

    One edit an attribute with at most two loads. Example: ``self.centres`` -> ``torch.zeros(4, 1)``, and
    ``functional_call(model, {"centres": c}, x)`` loses its entry.
    """
    slicer = Slicer(program)
    torch, imports = calls.torch_spelling(program)
    loads: dict[str, list[Path]] = {}
    for path, node in program.walk(ast.Attribute):
        if (
            isinstance(node.ctx, ast.Load)
            and isinstance(node.value, ast.Name)
            and calls.library_name(program, path) is None
        ):
            loads.setdefault(node.attr, []).append(path)
    for name, paths in loads.items():
        fact = next((f for f in map(facts.of, paths) if f is not None), None)
        if fact is None or fact.kind != "tensor" or len(paths) > 2:
            continue
        text = sources(fact.value, torch, 1)
        entries = [
            Change((*path, "keys", i))
            for path, node in program.walk(ast.Dict)
            for i, key in enumerate(node.keys)
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.rpartition(".")[2] == name
        ]
        if text:
            yield Edit(slicer.with_dead(*entries, *(Change(path, text[0]) for path in paths)), imports)


@strategy("value-for-expression", tier=Tier.MEDIUM)
def value_for_expression(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a small tensor (or a tuple of them) of the same shape and dtype for any expression.

    One edit an expression, where it saves tokens. Example: ``(a @ b).tanh() + c`` -> ``torch.ones(2, 3) + c``.
    """
    slicer = Slicer(program)
    torch, imports = calls.torch_spelling(program)
    live = failed.compared(program, facts)
    for path, node in program.walk(ast.expr):
        fact = facts.of(path)
        if fact is None or fact.kind not in ("tensor", "seq", "module", "dict") or is_constructor(program, path):
            continue
        _, parent = program.parent(path)
        if isinstance(parent, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr | ast.Call) and path[-1] != "func":
            continue  # an assignment's or an argument's, which the others propose
        if not _replaceable(program, path, node) or (live is not None and live.transformed(path)):
            continue
        for text in sources(fact.value, torch, 1):
            yield from _proposal(program, slicer, path, text, imports)


@strategy("variable-for-argument", tier=Tier.FINE)
def variable_for_argument(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a variable that holds a tensor for an argument that is computed, and drop what only fed it.

    At most two edits an argument: variables of the same shape first, then those of the same first dimension.
    Example: ``vmap(f)(stack_module_state(models))`` -> ``vmap(f)(x)``.
    """
    slicer = Slicer(program)
    live = failed.compared(program, facts)
    held = _tensors_held(program, facts)
    for path, node in program.walk(ast.Call):
        for at in [(*path, "args", i) for i in range(len(node.args))]:
            fact, argument = facts.of(at), program.node(at)
            tensor = first_tensor(fact.value) if fact is not None else None
            if tensor is None or isinstance(argument, ast.Name | ast.Starred):
                continue
            shape = tuple(tensor["shape"])
            if live is not None and live.transformed(at):
                continue
            fitting = [
                (held[binding] != shape, binding.name)
                for binding in held
                if program.scopes.lookup(at, binding.name) == binding
                and binding not in _bound_by(program, at)
                and (held[binding] == shape or (shape and held[binding][:1] == shape[:1]))
            ]
            for _, name in sorted(fitting)[:2]:
                yield Edit(slicer.with_dead(Change(at, name)))


def _tensors_held(program: Program, facts: Facts) -> dict[Binding, tuple[int, ...]]:
    """The variables that were seen to hold a tensor, with its shape."""
    found: dict[Binding, tuple[int, ...]] = {}
    for binding, uses in program.scopes.uses.items():
        seen = next((fact for fact in map(facts.of, uses) if fact is not None), None)
        if seen is not None and seen.kind == "tensor":
            found[binding] = seen.shape
    return found


def _bound_by(program: Program, path: Path) -> set[Binding]:
    """What the statement at ``path`` itself gives a value."""
    at, _ = program.statement_of(path)
    return {b for b, places in program.scopes.definitions.items() if any(p[: len(at)] == at for p in places)}


@strategy("seen-value-for-statement", tier=Tier.FINE)
def seen_value_for_statement(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put other literals of a fitting kind where the plainest one did not do: the call's argument or operand itself.

    Tries every remaining spelling for arguments that are calls.
    """
    torch, imports = calls.torch_spelling(program)
    live = failed.compared(program, facts)
    for path, _node in program.walk(ast.Call, ast.BinOp, ast.Subscript):
        fact = facts.of(path)
        if fact is None or fact.kind != "tensor" or is_constructor(program, path):
            continue
        if live is not None and live.transformed(path):
            continue
        size = program.size(path)
        for text in sources(fact.value, torch, 4)[1:]:
            if len(text) // 3 < size * 2:
                yield Edit((Change(path, text),), imports)


def is_constructor(program: Program, path: Path) -> bool:
    """Whether a tensor of constants already stands at ``path``, or something that is as plain."""
    node = program.node(path)
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Tuple | ast.List):
        field = "elts"
        return all(is_constructor(program, (*path, field, i)) for i in range(len(node.elts)))
    if not isinstance(node, ast.Call):
        return False
    full = calls.callee(program, path)
    if full is None or not full.startswith("torch.") or full[len("torch.") :] not in _CONSTRUCTORS:
        return False
    return all(not isinstance(n, ast.Name) for a in node.args for n in ast.walk(a))


def _proposal(program: Program, slicer: Slicer, path: Path, text: str, imports: tuple[str, ...]) -> Iterator[Edit]:
    if text == program.text(program.node(path)):
        return
    changes = slicer.with_dead(Change(path, text))
    if slicer.gain(changes) > 0:
        yield Edit(changes, imports)


def _steady(fact: ExprFact) -> bool:
    return fact.same or fact.count <= 1


def _inside(taken: set[Path], path: Path) -> bool:
    return any(path[:k] in taken for k in range(len(path) - 1, 0, -1))


def _replaceable(program: Program, path: Path, node: ast.expr) -> bool:
    """No target, no statement of its own, no test whose constant would end the program's meaning."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    _, parent = program.parent(path)
    if isinstance(parent, ast.Expr | ast.Starred | ast.FormattedValue | ast.Assert):
        return False
    return not (path[-1] in ("func", "annotation", "returns") or "decorator_list" in path[-2:])


STRATEGIES = (
    *distil.STRATEGIES,
    one_for_number,
    constant_for_expression,
    constant_for_name,
    value_for_assignment,
    value_for_argument,
    value_for_attribute,
    value_for_expression,
    variable_for_argument,
    seen_value_for_statement,
)

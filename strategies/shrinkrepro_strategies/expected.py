"""Expected values: what a check compares with, once nothing else can go, as the number that it is.

Decision: last of all, because a literal fixes all that the number depends on; and of what no transform made, or of
what is compared with the compiled same. The control has to give that number too, so a check of constants is never left.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import ExprFact, Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.blocks import LOOPS
from shrinkrepro_strategies.descriptions import exact_source
from shrinkrepro_strategies.failed import failed_checks
from shrinkrepro_strategies.liveness import Liveness, covered, outermost
from shrinkrepro_strategies.provenance import Provenance

_ROUNDS = 10  # of what becomes unused by what went before


@strategy("value-for-expected", tier=Tier.POLISH)
def value_for_expected(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the number that was seen for what a failed check compares with, and drop all that only led to it.

    Example: ``want = []; want.append(f(x)); assert_close(got, torch.stack(want))`` -> ``assert_close(got,
    torch.tensor([2.0]))``.
    """
    for path, node in _sides(program, facts):
        fact = facts.of(path)
        assert fact is not None
        yield from _written(program, facts, path, node, _texts(fact, calls.torch_spelling(program)[0]))


@strategy("fill-for-eager", tier=Tier.MEDIUM)
def fill_for_eager(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put ones or zeros, where it is that, for what a check compares the compiled same with.

    Early, because it halves what is left to run; other numbers would fix the inputs. Example: ``assert_close(g(f),
    g(torch.compile(f)))`` -> ``assert_close(torch.ones(2), g(torch.compile(f)))``.
    """
    for path, node in _sides(program, facts):
        fact = facts.of(path)
        filled = fact is not None and fact.kind == "tensor" and fact.value.get("fill") in (0, 1)
        if fact is not None and filled and _is_eager_side(program, path):
            yield from _written(program, facts, path, node, _texts(fact, calls.torch_spelling(program)[0])[:1])


def _sides(program: Program, facts: Facts) -> Iterator[tuple[Path, ast.expr]]:
    """What failed checks compare with: what no transform made, or the eager side of what is compiled."""
    live = Provenance(program)
    for check in _checks(program, facts):
        for path, node in _compared(program.node(check), check):
            if isinstance(node, ast.Constant) or facts.of(path) is None:
                continue
            if not live.transformed(path) or _is_eager_side(program, path):
                yield path, node


def _checks(program: Program, facts: Facts) -> list[Path]:
    """Conditions that failed; of a compiled program, which is observed without its compiler, those that were asked."""
    found = [check for check, _ in failed_checks(program, facts)]
    compiled = any(full == "torch.compile" for _, _, full in calls.calls_of(program, "torch.compile"))
    if not found and compiled:
        found = [(*path, "test") for path, node in program.walk(ast.Assert) if facts.count(node)]
        found += [path for path, _, _ in calls.calls_of(program, "torch.testing.assert") if facts.of(path) is not None]
    return found


def _written(program: Program, facts: Facts, path: Path, node: ast.expr, texts: list[str]) -> Iterator[Edit]:
    """``texts`` for the side at ``path``, without what only led to it."""
    _, imports = calls.torch_spelling(program)
    for text in texts:
        if text != program.text(node):
            gone = _led_to(program, facts, path)
            changes = [Change(at) for at in outermost(gone) if at != path]
            yield Edit((Change(path, text), *changes), imports)


def _is_eager_side(program: Program, path: Path) -> bool:
    """Whether the expression at ``path`` is compared with what a compiled function gives, and is none itself."""
    up, parent = program.parent(path)
    other: Path | None = None
    if isinstance(parent, ast.Call) and path[-2] == "args" and path[-1] in (0, 1) and len(parent.args) > 1:
        other = (*up, "args", 1 - int(path[-1]))
    elif isinstance(parent, ast.Compare) and path[len(up) :] in (("left",), ("comparators", 0)):
        other = (*up, "comparators", 0) if path[-1] == "left" else (*up, "left")
    return other is not None and _compiles(program, other, set()) and not _compiles(program, path, set())


def _compiles(program: Program, path: Path, seen: set[Path]) -> bool:
    """Whether ``torch.compile`` has a part in what stands at ``path``, by names."""
    seen.add(path)
    for node in ast.walk(program.node(path)):
        at = program.paths.get(id(node))
        if at is None or not isinstance(node, ast.Name | ast.Attribute):
            continue
        if calls.library_name(program, at) == "torch.compile":
            return True
        binding = program.scopes.binding(at)
        for definition in program.scopes.definitions.get(binding, []) if binding is not None else []:
            made = program.statement_of(definition)[0] if not isinstance(program.node(definition), ast.arg) else None
            if made is not None and made not in seen and _compiles(program, made, seen):
                return True
    return False


def _texts(fact: ExprFact, torch: str) -> list[str]:
    found = [exact_source(fact.value, torch)]
    if fact.kind == "tensor" and fact.value.get("fill") is not None and fact.value.get("shape") == []:
        found.append(str(fact.value["fill"]))  # a plain number, where the check takes one
    return [text for text in found if text is not None]


def _compared(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.expr]]:
    """The expressions that the check compares: arguments of calls and sides of comparisons, outermost first."""
    if isinstance(node, ast.Call):
        for k, argument in enumerate(node.args):
            if not isinstance(argument, ast.Starred):
                yield (*path, "args", k), argument
                if isinstance(argument, ast.BinOp):
                    yield from _compared(argument, (*path, "args", k))
        if isinstance(node.func, ast.Attribute):
            yield from _compared(node.func.value, (*path, "func", "value"))
    elif isinstance(node, ast.Compare):
        for at, side in (((*path, "left"), node.left), ((*path, "comparators", 0), node.comparators[0])):
            yield at, side
            yield from _compared(side, at)
    elif isinstance(node, ast.BinOp):
        for name in ("left", "right"):
            yield (*path, name), getattr(node, name)
    elif isinstance(node, ast.UnaryOp):
        yield from _compared(node.operand, (*path, "operand"))


def _led_to(program: Program, facts: Facts, path: Path) -> set[Path]:
    """All that only the expression at ``path`` needs, with the statements that filled what it reads."""
    gone = {path}
    for _ in range(_ROUNDS):
        more = Liveness(program, facts, careful=False).close(gone)
        for uses in program.scopes.uses.values():
            left = [use for use in uses if not covered(use, more)]
            fillers = [_filler(program, use) for use in left]
            if left and any(covered(use, more) for use in uses) and None not in fillers:
                more.update(at for at in fillers if at is not None)
        more.update(at for at, node in program.walk(*LOOPS) if _emptied(node, at, more))
        if more == gone:
            break
        gone = more
    return gone


def _filler(program: Program, use: Path) -> Path | None:
    """The statement that only fills the variable used at ``use``: ``out.append(x)`` or ``out[k] = x``."""
    at, statement = program.statement_of(use)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return at if use == (*at, "value", "func", "value") else None
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        return at if use == (*at, "targets", 0, "value") else None
    return None


def _emptied(node: ast.AST, path: Path, gone: set[Path]) -> bool:
    body = getattr(node, "body", None)
    return isinstance(body, list) and all(covered((*path, "body", k), gone) for k in range(len(body)))


STRATEGIES = (fill_for_eager, value_for_expected)

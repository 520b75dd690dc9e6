"""Control flow: a block's body for the block, straight lines for branches and loops.

Decision: with facts the side that was taken comes first and a loop becomes the one turn that matters; without
facts every side is proposed and a query decides.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from shrinkrepro.core.edits import Edit, Path, delete, join, replace, source_of
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program, count_tokens
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.blocks import (
    COMPREHENSIONS,
    DEFINITIONS,
    any_reached,
    block_text,
    leaves_nothing,
    statement_lists,
    without_jumps,
)
from shrinkrepro_strategies.folding import fold
from shrinkrepro_strategies.turns import one_turn, unroll_comprehension, unroll_fully, unroll_loop

_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
_BRANCHING = (ast.If, ast.Try, ast.While, ast.With)


def _maybe_taken(body: Sequence[ast.stmt], facts: Facts) -> bool:
    return any_reached(body, facts) or leaves_nothing(body)


def straighten(body: Sequence[ast.stmt], facts: Facts, *, blocks: bool) -> list[ast.stmt]:
    """``body`` with the branches that were taken for every ``if``; with ``blocks`` without ``try`` and ``with`` too."""
    result: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.If):
            sides = [b for b in (statement.body, statement.orelse) if b and _maybe_taken(b, facts)]
            if len(sides) < 2:
                result.extend(straighten(sides[0], facts, blocks=blocks) if sides else [])
                continue
        if (
            blocks
            and isinstance(statement, ast.Try)
            and not any(any_reached(h.body, facts) for h in statement.handlers)
        ):
            every = [*statement.body, *statement.orelse, *statement.finalbody]
            result.extend(straighten(every, facts, blocks=blocks))
            continue
        if blocks and isinstance(statement, ast.With) and all(i.optional_vars is None for i in statement.items):
            result.extend(straighten(statement.body, facts, blocks=blocks))
            continue
        new = copy.copy(statement)
        for field, inner in statement_lists(statement):
            setattr(new, field, straighten(inner, facts, blocks=blocks) or ([ast.Pass()] if field == "body" else []))
        result.append(new)
    return result


@strategy("straighten-branches", tier=Tier.COARSE)
def straighten_branches(program: Program, facts: Facts) -> Iterator[Edit]:
    """Replace every ``if`` by the branch that was taken, in one edit; then also every ``try`` and ``with``.

    Example: ``if a: f() else: g()`` -> ``g()`` everywhere.
    """
    if not facts.known:
        return
    for blocks in (True, False):
        edits = []
        for i, statement in enumerate(program.tree.body):
            kinds = _BRANCHING if blocks else (ast.If,)
            if any(isinstance(node, kinds) for node in ast.walk(statement)):
                edits.append(replace(("body", i), source_of(straighten([statement], facts, blocks=blocks))))
        if edits:
            yield join(*edits)


@strategy("unwrap-block", tier=Tier.COARSE)
def unwrap_block(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a block's body for its ``if``, ``for``, ``while``, ``with`` or ``try``.

    The branch that was taken comes first; ``else``, handlers and ``finally`` follow, then the same with the
    value of ``with e as x`` assigned.
    """
    for path, node in program.walk(ast.stmt):
        if not isinstance(node, _BLOCKS):
            continue
        bodies: list[list[ast.stmt]] = [getattr(node, "body", [])]
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            bodies = [without_jumps(node.body)]
        if isinstance(node, ast.Match):
            bodies = [case.body for case in node.cases]
        if isinstance(node, ast.Try):
            bodies = [[*node.body, *node.orelse, *node.finalbody], node.body, *(h.body for h in node.handlers)]
            if node.finalbody:
                bodies.append(node.finalbody)
        elif isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While) and node.orelse:
            bodies.append(node.orelse)
        if facts.known:
            bodies.sort(key=lambda body: not any_reached(body, facts))
        texts = dict.fromkeys(block_text(body) for body in bodies)
        for text in texts:
            yield replace(path, text)
        if isinstance(node, ast.With | ast.AsyncWith):
            named = [
                f"{source_of(i.optional_vars)} = {source_of(i.context_expr)}" for i in node.items if i.optional_vars
            ]
            if named:
                yield replace(path, "\n".join([*named, block_text(node.body)]))


@strategy("drop-clause", tier=Tier.MEDIUM)
def drop_clause(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete an ``else``, a handler, a ``finally``, a context of ``with``, a ``case``."""
    for path, node in program.walk(ast.stmt):
        for field in ("orelse", "finalbody"):
            items = getattr(node, field, None)
            if items:
                yield delete(*((*path, field, i) for i in range(len(items))))
        for field in ("handlers", "items", "cases"):
            for i in range(len(getattr(node, field, ()))):
                yield delete((*path, field, i))
        for i, item in enumerate(getattr(node, "items", ())):
            if item.optional_vars is not None:
                yield delete((*path, "items", i, "optional_vars"))
        for i, handler in enumerate(getattr(node, "handlers", ())):
            if handler.name is not None:
                yield delete((*path, "handlers", i, "name"))
            elif handler.type is not None:
                yield delete((*path, "handlers", i, "type"))


@strategy("one-turn", tier=Tier.MEDIUM)
def unroll(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put one turn of a loop for the loop, the item in the place of the loop's variable.

    The item is a literal where facts or the program give one, else ``xs[0]`` or ``next(iter(xs))``.
    Example: ``for i in range(9): step(i)`` -> ``step(0)``.
    """
    for path, node in program.walk(ast.For, ast.AsyncFor):
        for text in unroll_loop(program, facts, path, node):
            yield replace(path, text)


@strategy("one-turn-named", tier=Tier.MEDIUM, grows=True)
def unroll_named(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put one turn of a loop for the loop, the item assigned to the loop's variable first.

    Example: ``for x in loader: step(x)`` -> ``x = next(iter(loader)); step(x)``.
    """
    for path, node in program.walk(ast.For, ast.AsyncFor):
        yield from (replace(path, text) for text in one_turn(program, facts, path, node))


@strategy("all-turns", tier=Tier.MEDIUM, grows=True)
def all_turns(program: Program, facts: Facts) -> Iterator[Edit]:
    """Write out every turn of a loop of two to four turns, and work out the conditions that become literal.

    Example: ``for b in (0, 1): f() if b else g()`` -> ``g(); f()``.
    """
    for path, node in program.walk(ast.For, ast.AsyncFor):
        text = unroll_fully(program, facts, path, node)
        if text is not None and count_tokens(text) <= 2 * program.size(path):
            yield replace(path, text)


@strategy("fold-conditions", tier=Tier.MEDIUM)
def fold_conditions(program: Program, facts: Facts) -> Iterator[Edit]:
    """Work out conditions on literals: ``a if True else b`` -> ``a``, ``not False and x`` -> ``x``."""
    for i, statement in enumerate(program.tree.body):
        text = source_of(fold([copy.deepcopy(statement)]))
        if text != source_of(statement):
            yield replace(("body", i), text)


@strategy("shorten-loop", tier=Tier.MEDIUM)
def shorten_loop(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make a loop run once or twice: ``for x in f(xs)`` -> ``for x in xs``, ``range(n)`` -> ``range(1)``."""
    for path, node in program.walk(ast.For, ast.AsyncFor, ast.comprehension):
        iterated = node.iter
        at = (*path, "iter")
        if isinstance(iterated, ast.Call):
            if isinstance(iterated.func, ast.Name) and iterated.func.id == "range":
                for count in (1, 2):
                    if ast.unparse(iterated) != f"range({count})":
                        yield replace(at, f"range({count})")
            else:
                for argument in iterated.args:
                    yield replace(at, argument)
        elif isinstance(iterated, ast.List | ast.Tuple) and len(iterated.elts) > 1:
            count = len(iterated.elts)
            yield delete(*((*at, "elts", i) for i in range(1, count)))
            yield delete(*((*at, "elts", i) for i in range(count - 1)))


@strategy("choose-branch", tier=Tier.MEDIUM)
def choose_branch(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a branch for a conditional expression, the one that was taken first."""
    for path, node in program.walk(ast.IfExp):
        taken = _taken(facts, path, node)
        sides = [node.body, node.orelse]
        for side in [taken, *(s for s in sides if s is not taken)] if taken is not None else sides:
            yield replace(path, side)


def _taken(facts: Facts, path: Path, node: ast.IfExp) -> ast.expr | None:
    """The side of ``node`` that was evaluated, when it was always the same one; constants leave no facts."""
    test = facts.of((*path, "test"))
    if test is None:
        return None
    ran = [side for field, side in (("body", node.body), ("orelse", node.orelse)) if facts.of((*path, field))]
    if ran:
        return ran[0] if len(ran) == 1 else None
    plain = [side for side in (node.body, node.orelse) if isinstance(side, ast.Constant | ast.JoinedStr)]
    if len(plain) == 2 and test.kind == "const" and test.same:
        return node.orelse if str(test.value["r"]) in ("False", "None", "0", "0.0", "''") else node.body
    return plain[0] if len(plain) == 1 else None


@strategy("choose-all-branches", tier=Tier.COARSE)
def choose_all_branches(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the branch that was taken for every conditional expression, in one edit."""
    edits: list[Edit] = []
    done: list[Path] = []
    for path, node in program.walk(ast.IfExp):
        if any(path[: len(p)] == p for p in done):
            continue
        taken = _taken(facts, path, node)
        if taken is not None:
            edits.append(replace(path, taken))
            done.append(path)
    if len(edits) > 1:
        yield join(*edits)


@strategy("unroll-comprehension", tier=Tier.MEDIUM)
def unroll_comprehensions(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the first element of a comprehension for the comprehension, in brackets or alone.

    Example: ``[f(x) for x in xs]`` -> ``[f(xs[0])]`` -> ``f(xs[0])``.
    """
    for path, node in program.walk(ast.expr):
        if not isinstance(node, COMPREHENSIONS):
            continue
        for i, generator in enumerate(node.generators):
            yield from (delete((*path, "generators", i, "ifs", k)) for k in range(len(generator.ifs)))
            if len(node.generators) > 1:
                yield delete((*path, "generators", i))
        if facts.of((*path, "generators", 0, "iter")) and not _ran_inside(program, facts, path):
            yield replace(path, "{}" if isinstance(node, ast.DictComp) else "[]")
        for text in unroll_comprehension(program, facts, path, node):
            yield replace(path, text)


def _ran_inside(program: Program, facts: Facts, path: Path) -> bool:
    node = program.node(path)
    inner = [f for f in ("elt", "value") if isinstance(getattr(node, f, None), ast.expr)]
    return any(isinstance(getattr(node, f), ast.Constant) or facts.of((*path, f)) for f in inner)


@strategy("return-for-yield", tier=Tier.MEDIUM)
def return_for_yield(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make a generator a plain function: ``yield e`` -> ``return e``, and its loops take the one value.

    Example: ``for x in batches(): f(x)`` -> ``x = batches(); f(x)``.
    """
    for path, node in program.walk(ast.FunctionDef):
        yields = [
            (p, n)
            for p, n in program.walk(ast.Expr)
            if p[: len(path)] == path and isinstance(n.value, ast.Yield) and n.value.value is not None
        ]
        if len(yields) != 1 or program.enclosing(yields[0][0], *DEFINITIONS) != (path, node):
            continue
        at, statement = yields[0]
        value = source_of(statement.value).removeprefix("(yield ").removesuffix(")")
        changes = [replace(at, f"return {value}")]
        unwrapped = program.parent(at)
        if isinstance(unwrapped[1], ast.While | ast.For) and unwrapped[0][: len(path)] == path:
            changes = [replace(unwrapped[0], block_text([*unwrapped[1].body[: int(at[-1])]]) + f"\nreturn {value}")]
        calls = [program.parent(use) for use in program.scopes.uses_of(path)]
        for up, call in calls:
            if not isinstance(call, ast.Call):
                break
            holder_path, holder = program.parent(up)
            if isinstance(holder, ast.Call) and ast.unparse(holder.func) in ("next", "iter", "list"):
                if ast.unparse(holder.func) == "iter" and isinstance(program.parent(holder_path)[1], ast.Call):
                    holder_path = program.parent(holder_path)[0]
                changes.append(replace(holder_path, source_of(call)))
            elif isinstance(holder, ast.For) and up == (*holder_path, "iter"):
                body = block_text(without_jumps(holder.body))
                changes.append(replace(holder_path, f"{source_of(holder.target)} = {source_of(call)}\n{body}"))
            else:
                break
        else:
            yield join(*changes)


@strategy("conditional-for-branches", tier=Tier.MEDIUM)
def conditional_for_branches(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put one conditional expression for an ``if`` whose branches set the same name or return.

    Examples: ``if c: y = a`` with ``else: y = b`` -> ``y = a if c else b``, and ``if c: return a`` before
    ``return b`` -> ``return a if c else b``.
    """
    for path, node in program.walk(ast.If):
        block = getattr(program.parent(path)[1], str(path[-2]))
        other = node.orelse or block[int(path[-1]) + 1 :][:1]
        if len(node.body) != 1 or len(other) != 1:
            continue
        one, two = node.body[0], other[0]
        if not isinstance(one, ast.Return | ast.Assign) or not isinstance(two, ast.Return | ast.Assign):
            continue
        if one.value is None or two.value is None:
            continue
        value = ast.IfExp(node.test, one.value, two.value)
        if isinstance(one, ast.Return) and isinstance(two, ast.Return):
            whole = replace(path, f"return {source_of(value)}")
            yield whole if node.orelse else join(whole, delete((*path[:-1], int(path[-1]) + 1)))
        elif node.orelse and isinstance(one, ast.Assign) and isinstance(two, ast.Assign):
            targets = [" = ".join(map(source_of, statement.targets)) for statement in (one, two)]
            if targets[0] == targets[1]:
                yield replace(path, f"{targets[0]} = {source_of(value)}")


@strategy("drop-early-exit", tier=Tier.MEDIUM)
def drop_early_exit(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete an ``if`` that only returns, raises, breaks or continues."""
    for path, node in program.walk(ast.If):
        if not node.orelse and isinstance(node.body[-1], ast.Return | ast.Raise | ast.Break | ast.Continue):
            yield delete(path)


STRATEGIES = (
    straighten_branches,
    choose_all_branches,
    unwrap_block,
    drop_clause,
    unroll,
    unroll_named,
    all_turns,
    fold_conditions,
    shorten_loop,
    choose_branch,
    unroll_comprehensions,
    return_for_yield,
    conditional_for_branches,
    drop_early_exit,
)

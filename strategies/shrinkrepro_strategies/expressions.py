"""Expressions: a part for the whole, and fewer parts.

Decision: while a program is large only parts that facts show to be alike (same kind; for tensors same shape and
dtype) are put for the whole; when it is small every direct part is tried, because then a query for each is cheap.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path, delete, join, replace, source_of
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import containers
from shrinkrepro_strategies.blocks import DEFINITIONS, fact_of, is_target, like, names_read

_LARGE = 300  # tokens from which on only alike parts are proposed
_PLURAL = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.BoolOp, ast.Compare)
_SCOPED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def parts(program: Program, path: Path, node: ast.expr) -> Iterator[tuple[Path, ast.expr]]:
    """The parts of an expression that could stand for it: operands, arguments, receiver, elements."""
    if isinstance(node, ast.Call):
        for i, argument in enumerate(node.args):
            if isinstance(argument, ast.Starred):
                yield (*path, "args", i, "value"), argument.value
            else:
                yield (*path, "args", i), argument
        for i, keyword in enumerate(node.keywords):
            yield (*path, "keywords", i, "value"), keyword.value
        if isinstance(node.func, ast.Attribute):
            if not _is_module(program, (*path, "func", "value"), node.func.value):
                yield (*path, "func", "value"), node.func.value
        elif not isinstance(node.func, ast.Name):
            yield (*path, "func"), node.func
    elif isinstance(node, ast.Attribute):
        if not _is_module(program, (*path, "value"), node.value):
            yield (*path, "value"), node.value
    elif isinstance(node, _SCOPED):
        yield from _scoped_parts(path, node)
    elif not isinstance(node, ast.IfExp | ast.JoinedStr | ast.FormattedValue):
        for field, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            for i, child in enumerate(children):
                if isinstance(child, ast.expr) and not isinstance(child, ast.Slice):
                    at: Path = (*path, field, i) if isinstance(value, list) else (*path, field)
                    if isinstance(child, ast.Starred):
                        yield (*at, "value"), child.value
                    else:
                        yield at, child


def _scoped_parts(path: Path, node: ast.expr) -> Iterator[tuple[Path, ast.expr]]:
    if isinstance(node, ast.Lambda):
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        if not own & names_read(node.body):
            yield (*path, "body"), node.body
        return
    assert isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
    yield (*path, "generators", 0, "iter"), node.generators[0].iter
    own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    for field in ("elt", "value"):
        part = getattr(node, field, None)
        if part is not None and not own & names_read(part):
            yield (*path, field), part


def _is_module(program: Program, path: Path, node: ast.expr) -> bool:
    """Whether ``node`` is an imported module, or a path into one."""
    while isinstance(node, ast.Attribute):
        path, node = (*path, "value"), node.value
    if not isinstance(node, ast.Name):
        return False
    binding = program.scopes.binding(path)
    if binding is None:
        return False
    return all(isinstance(program.node(d), ast.alias) for d in program.scopes.definitions.get(binding, ()))


def _expressions(program: Program) -> Iterator[tuple[Path, ast.expr]]:
    for path, node in program.walk(ast.expr):
        if isinstance(node, ast.Name | ast.Constant | ast.Slice | ast.Starred) or is_target(program, path):
            continue
        if path[-1] == "func" and isinstance(node, ast.Attribute):
            continue  # a method is no value of its own; its receiver is a part of the call
        if path[-1] in ("annotation", "returns") or "decorator_list" in path[-2:]:
            continue
        yield path, node


@strategy("hoist-alike", tier=Tier.MEDIUM)
def hoist_alike(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put for an expression a part of it, at any depth, that had a value of the same kind, shape and dtype.

    Two edits an expression: the smallest such part and the nearest. Example: ``torch.tanh(x @ w)`` -> ``x``.
    Source: Sun et al. 2018 (Perses), replacement by a compatible descendant.
    """
    if not facts.known:
        return
    for path, node in _expressions(program):
        whole = facts.of(path)
        if whole is None:
            continue
        found: list[tuple[Path, ast.expr]] = []
        stack = list(parts(program, path, node))
        while stack:
            at, part = stack.pop(0)
            if like(whole, fact_of(facts, at, part)):
                found.append((at, part))
            stack.extend(parts(program, at, part))
        if found:
            smallest = min(found, key=lambda item: program.size(item[0]))
            for part in dict((smallest, found[0])).values():
                yield replace(path, source_of(part))


@strategy("hoist-part", tier=Tier.FINE)
def hoist_part(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put for an expression one of its direct parts: an operand, an argument, the receiver, an element.

    Examples: ``f(x)`` -> ``x``, ``a + b`` -> ``a``, ``x.t()`` -> ``x``, ``(a, b)`` -> ``a``.
    """
    large = program.tokens > _LARGE
    for path, node in _expressions(program):
        alone = isinstance(program.parent(path)[1], ast.Expr)
        whole = facts.of(path)
        for at, part in parts(program, path, node):
            if alone and isinstance(part, ast.Name | ast.Constant):
                continue
            if large and not like(whole, fact_of(facts, at, part)):
                continue
            yield replace(path, source_of(part))


def _own_callee(program: Program, facts: Facts, path: Path, node: ast.Call) -> bool:
    """Whether the call reaches a function of the program, whose parameters must change with its arguments."""
    fact = facts.of(path)
    if fact is not None and fact.callee is not None:
        return True
    if not isinstance(node.func, ast.Name):
        return False
    binding = program.scopes.binding((*path, "func"))
    return binding is not None and any(
        isinstance(program.node(d), DEFINITIONS) for d in program.scopes.definitions.get(binding, ())
    )


@strategy("drop-all-arguments", tier=Tier.MEDIUM)
def drop_all_arguments(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete all keywords of a call, or all its arguments."""
    for path, node in program.walk(ast.Call):
        keywords: list[Path] = [(*path, "keywords", i) for i in range(len(node.keywords))]
        arguments: list[Path] = [(*path, "args", i) for i in range(len(node.args))]
        if len(keywords) > 1:
            yield delete(*keywords)
        if len(keywords) + len(arguments) > 1:
            yield delete(*arguments, *keywords)
            if len(arguments) > 2:
                yield delete(*arguments[1:], *keywords)


@strategy("drop-argument", tier=Tier.FINE)
def drop_argument(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete an argument or a keyword of a call; of the program's own functions only what may have a default."""
    for path, node in program.walk(ast.Call):
        for i in range(len(node.keywords)):
            yield delete((*path, "keywords", i))
        own = _own_callee(program, facts, path, node)
        for i in reversed(range(len(node.args))):
            if own and i < len(node.args) - 1:
                break
            yield delete((*path, "args", i))


@strategy("drop-element", tier=Tier.FINE)
def drop_element(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete elements of lists, tuples, sets and dicts, operands of ``and``, members of a chain of comparisons."""
    for path, node in program.walk(ast.expr):
        if not isinstance(node, _PLURAL) or is_target(program, path):
            continue
        if isinstance(node, ast.Dict | ast.BoolOp):
            field, count = "values", len(node.values)
        elif isinstance(node, ast.Compare):
            field, count = "comparators", len(node.comparators) if len(node.comparators) > 1 else 0
        else:
            field, count = "elts", len(node.elts)
        if count > 2:
            yield delete(*((*path, field, i) for i in range(1, count)))
        for i in reversed(range(count)):
            yield delete((*path, field, i))


@strategy("drop-index", tier=Tier.FINE)
def drop_index(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete the bounds of a slice."""
    for path, node in program.walk(ast.Slice):
        for field in ("lower", "upper", "step"):
            if getattr(node, field) is not None:
                yield delete((*path, field))


@strategy("drop-target", tier=Tier.MEDIUM)
def drop_target(program: Program, facts: Facts) -> Iterator[Edit]:
    """Bind fewer names at once.

    ``x = y = e`` -> ``x = e``; ``a, b = e, f`` -> ``a = e``; ``a, b = f()`` -> ``a = f()`` or ``a = f()[0]`` when
    ``b`` is not read.
    """
    for path, node in program.walk(ast.Assign):
        if len(node.targets) > 1:
            yield from (delete((*path, "targets", i)) for i in range(len(node.targets)))
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Tuple | ast.List) or any(isinstance(e, ast.Starred) for e in target.elts):
            continue
        count = len(target.elts)
        if isinstance(node.value, ast.Tuple | ast.List) and len(node.value.elts) == count:
            yield from _drop_pairs(path, target, node.value)
            continue
        used = [i for i, e in enumerate(target.elts) if _is_read(program, (*path, "targets", 0, "elts", i), e)]
        if len(used) <= 1:
            index = used[0] if used else 0
            name, value = source_of(target.elts[index]), source_of(node.value)
            yield replace(path, f"{name} = {value}")
            yield replace(path, f"{name} = {_indexable(node.value)}[{index}]")
        elif len(used) < count and used == list(range(len(used))):
            yield delete(*((*path, "targets", 0, "elts", i) for i in range(len(used), count)))


def _indexable(node: ast.expr) -> str:
    source = source_of(node)
    return source if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else f"({source})"


def _is_read(program: Program, path: Path, target: ast.expr) -> bool:
    return not isinstance(target, ast.Name) or bool(program.scopes.uses_of(path))


def _drop_pairs(path: Path, target: ast.Tuple | ast.List, value: ast.Tuple | ast.List) -> Iterator[Edit]:
    for i in range(len(target.elts)):
        kept = [k for k in range(len(target.elts)) if k != i]
        if len(kept) == 1:
            yield replace(path, f"{source_of(target.elts[kept[0]])} = {source_of(value.elts[kept[0]])}")
        elif kept:
            yield delete((*path, "targets", 0, "elts", i), (*path, "value", "elts", i))


@strategy("drop-lambda", tier=Tier.FINE)
def drop_lambda(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the function for a lambda that only calls it: ``lambda x: f(x)`` -> ``f``."""
    for path, node in program.walk(ast.Lambda):
        body = node.body
        own = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        if isinstance(body, ast.Call) and body.args and not set(own) & names_read(body.func):
            yield replace(path, source_of(body.func))
        if (
            isinstance(body, ast.Call)
            and isinstance(body.func, ast.Attribute)
            and own[:1] == [source_of(body.func.value)]
        ):
            # many methods of the first parameter are functions of the library too
            yield replace(path, f"torch.{body.func.attr}", ("import torch",))


@strategy("blank-text", tier=Tier.FINE)
def blank_text(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put ``''`` for an expression whose value is text, and drop the parts of f-strings."""
    for path, node in _expressions(program):
        fact = facts.of(path)
        text = isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "join")
        )
        if fact is not None and fact.kind == "const" and str(fact.value["r"])[:1] in ("'", '"'):
            text = True
        if text and not any(isinstance(up, ast.JoinedStr) for _, up in program.ancestors(path)):
            yield replace(path, "''")
            if isinstance(node, ast.JoinedStr) and len(node.values) > 1:
                yield from (delete((*path, "values", i)) for i in range(len(node.values)))


@strategy("same-name", tier=Tier.FINE)
def same_name(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete ``a = b`` and read ``b`` for ``a`` everywhere."""
    for path, node in program.walk(ast.Assign):
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name) or not isinstance(node.value, ast.Name):
            continue
        binding = program.scopes.binding((*path, "targets", 0))
        if binding is not None and len(program.scopes.definitions[binding]) == 1:
            uses = program.scopes.uses.get(binding, [])
            yield join(delete(path), Edit(tuple(Change(use, node.value.id) for use in uses)))


STRATEGIES = (
    *containers.STRATEGIES,
    hoist_alike,
    drop_target,
    drop_all_arguments,
    hoist_part,
    drop_argument,
    drop_element,
    drop_index,
    drop_lambda,
    blank_text,
    same_name,
)

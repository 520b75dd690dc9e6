"""Isolation: the failing operation alone, under one of the program's transforms, in the place of everything else.

Decision: the leaf of the failure is the expression whose operands were all evaluated and that itself never came to
an end. Its operands are written down as they were seen; only a handful of such programs are tried, because one that
works is worth hundreds of small edits.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Description, ExprFact, Facts
from shrinkrepro.core.program import Program, bound_by_import, parse_expression
from shrinkrepro.core.scopes import BUILTINS, Binding
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.callees import callee_of, class_of
from shrinkrepro_strategies.descriptions import sources
from shrinkrepro_strategies.objects import written_for
from shrinkrepro_strategies.rewriting import Rewrite

_PARAMETERS = ("x", "y", "z", "w")
_KINDS = {
    "vmap": "vmap",
    **dict.fromkeys(("jvp", "jacfwd", "linearize"), "forward"),
    **dict.fromkeys(("grad", "vjp", "jacrev", "grad_and_value"), "reverse"),
    "hessian": "both",
}
_MOST_LEAVES = 4
_BATCH = 2


@dataclass
class _Leaf:
    """A failing expression as a function: ``text`` of its body, what its parameters are, what it needs."""

    text: str
    inputs: list[Description]
    direct: str | None  # the function itself, when the body only calls it with the parameters
    needs: set[Binding] = field(default_factory=set)


@strategy("isolate-failure", tier=Tier.COARSE)
def isolate_failure(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make the failing operation under one transform, or two, the whole program.

    Example: ``torch.vmap(torch.nn.GRU(8, 8))(torch.ones(2, 3, 8))`` for a training script in which a GRU fails.
    """
    if not facts.known or not program.tree.body:
        return
    torch, _ = calls.torch_spelling(program)
    kinds = _kinds(program, facts)
    seen: set[str] = set()
    for path in _leaves(program, facts)[:_MOST_LEAVES]:
        for first_only in (False, True):
            leaf = _as_function(program, facts, path, torch, first_only)
            if leaf is None or not leaf.inputs or (first_only and len(leaf.inputs) > 1):
                continue
            for text in _wrapped(program, leaf, kinds, torch):
                if text not in seen:
                    seen.add(text)
                    edit = _whole(program, text, leaf.needs, torch)
                    if edit is not None:
                        yield edit


def _leaves(program: Program, facts: Facts) -> list[Path]:
    """The expressions that had all their operands and no value: library calls and operators first."""
    library: list[Path] = []
    own: list[Path] = []
    for path, node in program.walk(ast.Call, ast.BinOp, ast.Subscript, ast.UnaryOp, ast.Compare):
        done = facts.of(path)
        begun = [facts.of(p) for p, n in _operands(path, node) if not isinstance(n, ast.Constant | ast.JoinedStr)]
        known = [b for b in begun if b is not None]
        if not known or len(known) < len(begun) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            continue
        if done is not None and min(b.count for b in known) <= done.count:
            continue
        if isinstance(node, ast.Call):
            if calls.transform_name(calls.callee(program, path)) is not None or isinstance(
                node.func, ast.Call | ast.Lambda
            ):
                continue
            user = callee_of(program, facts, path) is not None
            (own if user else library).append(path)
        else:
            library.append(path)
    order = {
        p: max((f.order for q, _ in _operands(p, program.node(p)) if (f := facts.of(q))), default=0)
        for p in library + own
    }
    return sorted(library, key=lambda p: -order[p]) + sorted(own, key=lambda p: -order[p])


def _operands(path: Path, node: ast.AST) -> list[tuple[Path, ast.expr]]:
    """The expressions directly below ``node`` that are evaluated before it (a method's object for the method)."""
    found: list[tuple[Path, ast.expr]] = []
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            found.append(((*path, name), value))
        elif isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, ast.expr):
                    found.append(((*path, name, i), item))
                elif isinstance(item, ast.keyword):
                    found.append(((*path, name, i, "value"), item.value))
    return found


def _as_function(program: Program, facts: Facts, path: Path, torch: str, first_only: bool) -> _Leaf | None:
    node = program.node(path)
    rewrite = Rewrite(program)
    leaf = _Leaf("", [], None)
    operands = _operands(path, node)
    if isinstance(node, ast.Call):
        spelled = _function(program, facts, path, node, torch, leaf)
        if spelled is None:
            return None
        if isinstance(spelled, ast.expr):
            rewrite.replace((*path, "func"), spelled)
            operands = [o for o in operands if o[0] != (*path, "func")]
        else:
            assert isinstance(node.func, ast.Attribute)
            operands = [((*path, "func", "value"), node.func.value), *operands[1:]]
    tensors = [(p, f) for p, _ in operands if (f := facts.of(p)) is not None and _is_input(f)]
    wrapped = [p for p, f in tensors if f.value.get("levels")]
    chosen = wrapped or [p for p, _ in tensors]
    chosen = chosen[:1] if first_only else chosen[: len(_PARAMETERS)]
    for at, operand in operands:
        if at in chosen:
            fact = facts.of(at)
            assert fact is not None
            rewrite.replace(at, ast.Name(_PARAMETERS[len(leaf.inputs)], ast.Load()))
            leaf.inputs.append(fact.value)
        elif not isinstance(operand, ast.Constant):
            new = _written(program, facts, at, torch, leaf)
            if new is None:
                return None
            rewrite.replace(at, new)
    written = rewrite.copy(path)
    assert isinstance(written, ast.expr)
    leaf.text = ast.unparse(ast.fix_missing_locations(written))
    names = list(_PARAMETERS[: len(leaf.inputs)])
    passed = [a.id if isinstance(a, ast.Name) else "" for a in written.args] if isinstance(written, ast.Call) else None
    if isinstance(written, ast.Call) and not written.keywords and passed == names:
        leaf.direct = ast.unparse(written.func)
    return leaf


def _is_input(fact: ExprFact) -> bool:
    return fact.kind == "tensor" and str(fact.value.get("dtype", "")).startswith(("float", "bfloat", "complex"))


def _function(
    program: Program, facts: Facts, path: Path, node: ast.Call, torch: str, leaf: _Leaf
) -> ast.expr | bool | None:
    """How the called function is spelled at module level; True for a tensor's method, None when it can't be told."""
    func: Path = (*path, "func")
    fact = facts.of(func)
    if calls.library_name(program, func) is not None or (isinstance(node.func, ast.Name) and node.func.id in BUILTINS):
        _need(program, func, leaf)
        return node.func
    if fact is None:
        return None
    if fact.kind == "module":
        text = sources(fact.value, torch, 1)
        if text:
            return parse_expression(text[0])
        return _made(program, facts, func, fact, torch, leaf)
    if isinstance(node.func, ast.Attribute):
        owner = facts.of((*func, "value"))
        if owner is not None and owner.kind == "type" and isinstance(node.func.value, ast.Name):
            _need(program, func, leaf)
            return node.func
        return True if owner is not None and owner.kind == "tensor" else None
    if isinstance(node.func, ast.Name):
        binding = program.scopes.binding(func)
        if binding is not None and not binding.scope:
            _need(program, func, leaf)
            return node.func
    return None


def _made(program: Program, facts: Facts, path: Path, fact: ExprFact, torch: str, leaf: _Leaf) -> ast.expr | None:
    """The call that made the program's own module at ``path``, with literal arguments."""
    owner = class_of(program, facts, path)
    if owner is None or len(owner) != 2:
        return None
    for at, call in program.walk(ast.Call):
        made = facts.of(at)
        if made is None or made.identity != fact.identity or not isinstance(call.func, ast.Name):
            continue
        if program.scopes.binding((*at, "func")) == program.scopes.binding(owner):
            written = written_for(program, facts, at, (), torch)
            if written is not None:
                leaf.needs.add(Binding((), call.func.id))
                return written
    return None


def _written(program: Program, facts: Facts, path: Path, torch: str, leaf: _Leaf) -> ast.expr | None:
    """An operand as it can stand at module level."""
    fact = facts.of(path)
    text = sources(fact.value, torch, 1) if fact is not None else []
    if text:
        return parse_expression(text[0])
    if calls.library_name(program, path) is not None:
        _need(program, path, leaf)
        node = program.node(path)
        return node if isinstance(node, ast.expr) else None
    if fact is not None and fact.kind == "module":
        return _made(program, facts, path, fact, torch, leaf)
    node = program.node(path)
    binding = program.scopes.binding(path) if isinstance(node, ast.Name) else None
    if binding is not None and not binding.scope and fact is not None and fact.kind == "function":
        leaf.needs.add(binding)
        return node if isinstance(node, ast.expr) else None
    return written_for(program, facts, path, (), torch) if isinstance(node, ast.Slice | ast.Tuple) else None


def _need(program: Program, path: Path, leaf: _Leaf) -> None:
    node = program.node(path)
    while isinstance(node, ast.Attribute):
        path, node = (*path, "value"), node.value
    binding = program.scopes.binding(path)
    if binding is not None:
        leaf.needs.add(binding)


def _kinds(program: Program, facts: Facts) -> list[str]:
    """Which kinds of transform were made in the run: vmap, forward, reverse, compile."""
    found: list[str] = []
    for path, node in program.walk(ast.Call, ast.Attribute, ast.Name):
        name = calls.library_name(program, path) if not isinstance(node, ast.Call) else None
        kind = _KINDS.get(calls.transform_name(name) or "") or ("compile" if name == "torch.compile" else None)
        if kind is not None and facts.ran(program.statement_of(path)[1]):
            found.extend(("forward", "reverse") if kind == "both" else (kind,))
    return list(dict.fromkeys(found))


def _wrapped(program: Program, leaf: _Leaf, kinds: list[str], torch: str) -> Iterator[str]:
    """The whole program's last line: the leaf under each kind of transform, then under two."""
    names = _PARAMETERS[: len(leaf.inputs)]
    parameters = ", ".join(names)
    body = leaf.direct or f"lambda {parameters}: {leaf.text}"
    given = [sources(d, torch, 1) for d in leaf.inputs]
    batched = [sources({**d, "shape": [_BATCH, *d["shape"]], "values": None}, torch, 1) for d in leaf.inputs]
    if not all(given) or not all(batched):
        return
    plain, many = ", ".join(g[0] for g in given), ", ".join(b[0] for b in batched)
    called = body if leaf.direct else f"({body})"
    scalar = f"lambda {parameters}: {leaf.text}.sum()"
    for kind in kinds:
        if kind == "vmap":
            yield f"{torch}.vmap({body})({many})"
        elif kind == "reverse":
            yield f"{torch}.func.vjp({body}, {plain})"
        elif kind == "forward":
            yield f"{torch}.func.jvp({body}, ({plain},), ({plain},))"
        elif kind == "compile":
            yield f"{torch}.compile({called})({plain})"
    if {"vmap", "reverse"} <= set(kinds):
        yield f"{torch}.vmap({torch}.func.grad({scalar}))({many})"
    if {"forward", "reverse"} <= set(kinds):
        yield f"{torch}.func.jvp({torch}.func.grad({scalar}), ({plain},), ({plain},))"
    if kinds == ["vmap", "forward"] or kinds == ["forward", "vmap"]:
        tuple_of = f"({parameters},)"
        yield f"{torch}.vmap(lambda {parameters}: {torch}.func.jvp({body}, {tuple_of}, {tuple_of}))({many})"


def _whole(program: Program, text: str, needs: set[Binding], torch: str) -> Edit | None:
    """The edit that leaves ``text`` and what it needs."""
    kept = _closure(program, needs)
    places = [i for i in range(len(program.tree.body)) if i not in kept]
    last = next((i for i in reversed(places) if i > max(kept, default=-1)), None)
    if last is None:
        return None
    changes = [Change(("body", i)) for i in places if i != last]
    return Edit((*changes, Change(("body", last), text)), (f"import {torch}",) if torch == "torch" else ())


def _closure(program: Program, needs: set[Binding]) -> set[int]:
    """The module's statements that ``needs`` take, and what these take."""
    kept: set[int] = set()
    pending = [b for b in needs if not b.scope]
    done: set[Binding] = set()
    while pending:
        binding = pending.pop()
        if binding in done:
            continue
        done.add(binding)
        for definition in program.scopes.definitions.get(binding, []):
            index = definition[1]
            assert isinstance(index, int)
            kept.add(index)
            for inner, uses in program.scopes.uses.items():
                if not inner.scope and any(use[:2] == definition[:2] for use in uses):
                    pending.append(inner)
    for i, statement in enumerate(program.tree.body):
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if future or (
            isinstance(statement, ast.Import) and any(bound_by_import(a) == "torch" for a in statement.names)
        ):
            kept.add(i)
    return kept


STRATEGIES = (isolate_failure,)

"""Turns: what one turn of a loop or comprehension looks like without the loop.

Decision: the item is written as a literal where the program or the facts give one, else as an index into what
is iterated, else as ``next(iter(..))``; it stands in the place of the loop's variable when that is not longer
than naming it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from shrinkrepro.core.edits import Path, source_of
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program, count_tokens, parse_expression
from shrinkrepro_strategies.blocks import block_text, literal_of, reads, substitute, without_jumps, writes
from shrinkrepro_strategies.folding import fold

_MOST_TURNS = 4
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def first_items(facts: Facts, path: Path, iterated: ast.expr, turn: int = 0) -> Iterator[str]:
    """Sources of the item that ``iterated`` (at ``path``) gives in its ``turn``-th turn, the plainest first."""
    seen: set[str] = set()
    for text in _items(facts, path, iterated, turn):
        if text not in seen:
            seen.add(text)
            yield text


def _items(facts: Facts, path: Path, iterated: ast.expr, turn: int) -> Iterator[str]:
    if isinstance(iterated, ast.Starred):
        return  # several at once
    source = source_of(iterated)
    if isinstance(iterated, ast.List | ast.Tuple | ast.Set) and iterated.elts:
        element = iterated.elts[min(turn, len(iterated.elts) - 1)]
        if not isinstance(element, ast.Starred):
            yield source_of(element)
        return
    fact = facts.of(path)
    if fact is not None and fact.kind == "seq" and len(fact.value.get("items", ())) > turn:
        literal = literal_of(fact.value["items"][turn])
        if literal is not None:
            yield literal
    if isinstance(iterated, ast.Call):
        name = source_of(iterated.func)
        yield from _dict_items(facts, path, iterated, turn)
        if name == "range" and 1 <= len(iterated.args) <= 3:
            if len(iterated.args) > 1:
                yield source_of(iterated.args[0])
            elif turn:
                yield str(turn)
            yield "0"
            return
        if name == "zip" and len(iterated.args) == 1 and isinstance(iterated.args[0], ast.Starred):
            yield f"[v[{turn}] for v in {source_of(iterated.args[0].value)}]"
            return
        parts = [next(first_items(facts, (*path, "args", i), a, turn), None) for i, a in enumerate(iterated.args)]
        if name in ("reversed", "sorted", "tqdm", "list", "tuple", "iter", "islice", "itertools.islice") and parts:
            if parts[0] is not None:
                yield parts[0]
        elif name == "enumerate" and parts and parts[0] is not None:
            yield f"({turn}, {parts[0]})"
            return
        elif name == "zip" and parts and None not in parts:
            yield f"({', '.join(str(p) for p in parts)})"
            return
        yield f"next(iter({source}))"
        yield f"next({source})"
        return
    yield f"{_operand(iterated)}[{turn}]"
    yield f"next(iter({source}))"


def _dict_items(facts: Facts, path: Path, call: ast.Call, turn: int) -> Iterator[str]:
    if not isinstance(call.func, ast.Attribute) or call.args or call.func.attr not in ("items", "keys", "values"):
        return
    fact = facts.of((*path, "func", "value"))
    if fact is None or fact.kind != "dict" or len(fact.value.get("items", ())) <= turn:
        return
    key = literal_of(fact.value["items"][turn][0])
    if key is not None:
        value = f"{_operand(call.func.value)}[{key}]"
        yield {"items": f"({key}, {value})", "keys": key, "values": value}[call.func.attr]


def _operand(node: ast.expr) -> str:
    source = source_of(node)
    return source if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else f"({source})"


def bindings(target: ast.expr, item: str) -> list[tuple[ast.expr, str]]:
    """``target = item`` taken apart into single assignments where both sides allow it."""
    value = parse_expression(item)
    if (
        isinstance(target, ast.Tuple | ast.List)
        and isinstance(value, ast.Tuple | ast.List)
        and len(target.elts) == len(value.elts)
        and not any(isinstance(e, ast.Starred) for e in target.elts)
    ):
        return [pair for t, v in zip(target.elts, value.elts) for pair in bindings(t, source_of(v))]
    return [(target, item)]


def _turn_body(
    facts: Facts, path: Path, node: ast.For | ast.AsyncFor, *, put: bool, limit: int
) -> Iterator[tuple[str, bool]]:
    """Texts of one turn, and whether the item needed no assignment."""
    turns = [0]
    busy = max((facts.count(s) for s in node.body), default=0)
    entered = facts.count(node.body[0])
    if facts.known and 1 < min(busy, entered) <= 8:
        turns.insert(0, entered - 1)
    for turn in turns:
        for item in list(first_items(facts, (*path, "iter"), node.iter, turn))[:limit]:
            body: Sequence[ast.AST] = without_jumps(node.body)
            named: list[str] = []
            for target, value in bindings(node.target, item):
                if isinstance(target, ast.Name):
                    uses = reads(body, target.id)
                    if put and not writes(body, target.id):
                        short = uses <= 1 or count_tokens(value) == 1
                        if short:
                            body = substitute(body, target.id, parse_expression(value))  # type: ignore[arg-type]
                            continue
                named.append(f"{source_of(target)} = {value}")
            text = "\n".join([*named, block_text([s for s in body if isinstance(s, ast.stmt)])])
            yield text, not named


def unroll_loop(program: Program, facts: Facts, path: Path, node: ast.For | ast.AsyncFor) -> Iterator[str]:
    """One turn of the loop in texts that are likely shorter than the loop."""
    yield from dict.fromkeys(text for text, _ in _turn_body(facts, path, node, put=True, limit=2))


def one_turn(program: Program, facts: Facts, path: Path, node: ast.For | ast.AsyncFor) -> Iterator[str]:
    """One turn of the loop with its variable assigned."""
    yield from dict.fromkeys(text for text, _ in _turn_body(facts, path, node, put=False, limit=2))


def unroll_fully(program: Program, facts: Facts, path: Path, node: ast.For | ast.AsyncFor) -> str | None:
    """Every turn of a short loop over a literal or over few plain items, one after the other, folded.

    A variable of the loop that is read elsewhere too, in a function it calls, is still assigned.
    """
    count = _turns(facts, path, node)
    if count is None or not 1 <= count <= _MOST_TURNS:
        return None
    parts: list[str] = []
    for turn in range(count):
        item = next(first_items(facts, (*path, "iter"), node.iter, turn), None)
        if item is None or item.startswith("next("):
            return None
        body: list[ast.AST] = [copy.deepcopy(s) for s in without_jumps(node.body)]
        named: list[str] = []
        for target, value in bindings(node.target, item):
            name = target.id if isinstance(target, ast.Name) and not writes(body, target.id) else None
            if name is not None:
                body = substitute(body, name, parse_expression(value))  # type: ignore[arg-type]
            if name is None or _read_elsewhere(program, path, name):
                named.append(f"{source_of(target)} = {value}")
        parts.extend([*named, block_text(fold([s for s in body if isinstance(s, ast.stmt)]))])
    return "\n".join(part for part in parts if part)


def _read_elsewhere(program: Program, path: Path, name: str) -> bool:
    """Whether a variable of the loop at ``path`` is read outside the loop."""
    binding = program.scopes.lookup(path, name)
    uses = program.scopes.uses.get(binding, []) if binding is not None else []
    return any(use[: len(path)] != path for use in uses)


def _turns(facts: Facts, path: Path, node: ast.For | ast.AsyncFor) -> int | None:
    """How many turns the loop began, when that is known."""
    if facts.known:
        return facts.count(node.body[0]) or None
    if isinstance(node.iter, ast.List | ast.Tuple) and not any(isinstance(e, ast.Starred) for e in node.iter.elts):
        return len(node.iter.elts)
    return None


def unroll_comprehension(program: Program, facts: Facts, path: Path, node: _Comprehension) -> Iterator[str]:
    """The comprehension with one element and no loop: in its brackets, and the element alone."""
    parts: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    parts = [copy.deepcopy(part) for part in parts]
    for i, generator in enumerate(node.generators):
        names = [n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)]
        if all(reads(parts, name) == 0 for name in names):
            continue
        item = next(first_items(facts, (*path, "generators", i, "iter"), generator.iter), None)
        if item is None:
            return
        for target, value in bindings(generator.target, item):
            if not isinstance(target, ast.Name):
                return
            parts = substitute(parts, target.id, parse_expression(value))  # type: ignore[arg-type]
    texts = [source_of(part) for part in parts]
    if isinstance(node, ast.DictComp):
        yield f"{{{texts[0]}: {texts[1]}}}"
        yield texts[1]
        return
    yield f"{{{texts[0]}}}" if isinstance(node, ast.SetComp) else f"[{texts[0]}]"
    yield texts[0]

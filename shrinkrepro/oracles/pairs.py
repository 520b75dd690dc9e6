"""Ranks the pairs of values that a script may print as what should be equal, the likeliest first.

Decision: nothing is known of what a script means, so each hint counts a little: how the two are called, that they are
printed side by side, that one comes from a transform, and that they are close without being equal. Pairs that agree to
rounding are never listed.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

# fmt: off
TRANSFORMS = frozenset(
    {
        "vmap", "grad", "grad_and_value", "vjp", "jvp", "linearize", "jacrev", "jacfwd", "hessian",
        "functionalize", "compile",
    }
)
GOT = frozenset(
    {
        "got", "actual", "out", "output", "result", "results", "fast", "vmapped", "batched", "vectorized",
        "func", "functorch", "compiled", "transform", "auto", "autodiff", "ad", "ours", "new", "pred",
        "computed", "fwd", "forward", "vmap", "jvp", "jacfwd", "test", "measured",
    }
)
WANT = frozenset(
    {
        "want", "expected", "expect", "ref", "reference", "loop", "looped", "slow", "plain", "eager",
        "manual", "exact", "closed", "true", "truth", "target", "numeric", "numerical", "fd", "naive",
        "analytic", "analytical", "baseline", "old", "rev", "reverse", "jacrev", "gold", "golden", "check",
        "double", "autograd",
    }
)
# fmt: on
ROUNDING = {"float32": 1e-5, "float16": 5e-3, "bfloat16": 3e-2, "float": 1e-9, "float64": 1e-9}
_EXACT = ("bool", "int64", "int32", "int16", "int8", "uint8")  # which are data more often than results
PER_ROOTS = 2  # pairs listed of the same two names
MOST = 400  # values that are looked at, the last ones


@dataclass(frozen=True)
class Value:
    """A value under an expression that gives it; ``sample`` are some of its elements, non-finite ones as floats."""

    expression: str
    name: str  # the first one in it
    function: str  # whose local the name is; empty: the module's
    kind: str  # tensor, or other
    shape: tuple[int, ...]
    dtype: str
    sample: tuple[float, ...]
    total: float


@dataclass(frozen=True)
class Pair:
    """Two values that differ. ``got`` is the one that looks like a result."""

    got: str
    want: str
    how: str  # they differ, in words
    score: float
    function: str = ""


def value_from_wire(data: dict[str, Any]) -> Value:
    """The value that ``target.collect`` sent."""
    return Value(
        expression=data["expr"],
        name=data["name"],
        function=data["function"],
        kind=data["kind"],
        shape=tuple(data["shape"]),
        dtype=data["dtype"],
        sample=tuple(float(v) for v in data["sample"]),
        total=float(data["sum"]),
    )


def ranked(values: Iterable[Value], source: str, most: int = 10) -> tuple[Pair, ...]:
    """The pairs of ``values`` of the program ``source`` that differ, the likeliest first."""
    hints = _Hints(source)
    groups: dict[tuple[Any, ...], list[tuple[int, Value]]] = {}
    for position, value in enumerate(list(values)[-MOST:]):
        groups.setdefault((value.function, value.shape, len(value.sample)), []).append((position, value))
    found = []
    for group in groups.values():
        for (early, one), (late, other) in combinations(group, 2):
            distance = _distance(one, other) if one.dtype not in _EXACT and other.dtype not in _EXACT else None
            if distance is not None:
                related = hints.score(one, other)
                alone = related > 0.5 or distance.strong
                score = related + (distance.score if alone else min(0.0, distance.score))
                score += 0.5 * max(early, late) / MOST
                found.append((score, early, late, one, other, distance.words))
    found.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    counts: dict[tuple[str, str], int] = {}
    pairs: list[Pair] = []
    for score, _, _, one, other, words in found:
        roots = (min(one.name, other.name), max(one.name, other.name))
        counts[roots] = counts.get(roots, 0) + 1
        if counts[roots] <= PER_ROOTS and len(pairs) < most:
            got, want = hints.ordered(one, other)
            pairs.append(Pair(got.expression, want.expression, words, round(score, 2), one.function))
    return tuple(pairs)


@dataclass(frozen=True)
class _Distance:
    score: float
    words: str
    strong: bool = False  # it says something of two values of which nothing else is known


def _distance(one: Value, other: Value) -> _Distance | None:
    """How two values of one shape differ, and how much that looks like a wrong number; None where they do not."""
    if not one.sample:
        return None
    pairs = list(zip(one.sample, other.sample))
    finite = [(a, b) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
    odd = [(a, b) for a, b in pairs if math.isfinite(a) != math.isfinite(b)]
    scale = max((max(abs(a), abs(b)) for a, b in finite), default=0.0)
    gap = max((abs(a - b) for a, b in finite), default=0.0)
    if odd:
        close = sum(abs(a - b) <= 1e-3 * scale for a, b in finite)
        what = "nan" if any(math.isnan(x) for pair in odd for x in pair) else "inf"
        return _Distance(3.0 + (close > 0), f"{what} in {len(odd)} of {len(pairs)} elements of one")
    if scale == 0 or not finite:
        return None
    relative = gap / scale
    rounding = max(ROUNDING.get(one.dtype, 0.0), ROUNDING.get(other.dtype, 0.0))
    sums = abs(one.total - other.total) / scale if math.isfinite(one.total - other.total) else 0.0
    if relative <= rounding and sums <= rounding * 1e3:
        return None
    words = f"they differ by {gap:.3g}, {relative:.2g} of the largest"
    equal = sum(abs(a - b) <= rounding * scale for a, b in finite) / len(finite)
    score = 2.0 if relative < 0.5 else 0.0
    score += 2.0 * (0.0 < equal < 1.0 and len(finite) > 1 and any(a for a, b in finite if a == b))
    if len(finite) > 1 and all(abs(a + b) <= 1e-3 * scale for a, b in finite):
        score, words = 2.0, "one is the other with the sign changed"
    elif not any(a for a, _ in finite) or not any(b for _, b in finite):
        score, words = 0.0, "one is zero"
    else:
        sizes = sorted((max(abs(a) for a, _ in finite), max(abs(b) for _, b in finite)))
        score -= 2.0 * (sizes[0] < 0.1 * sizes[1])
    close = relative < 0.2 and len(finite) >= 3 and len({a for a, _ in finite}) > 1  # seldom by chance
    return _Distance(score + close, words, close)


class _Hints:
    """What the text of a program says of its names."""

    def __init__(self, source: str) -> None:
        tree = ast.parse(source)
        self._prints = [
            (node.lineno, _words(node)) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_print(node)
        ]
        self._transformed = _transformed(tree)
        self._constants = {
            target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.UnaryOp)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def score(self, one: Value, other: Value) -> float:
        """How much the two look like values that should be equal."""
        parts = [_parts(one.expression), _parts(other.expression)]
        score = _alike(*parts) + self._printed(one, other)
        by_transform = [value.name in self._transformed for value in (one, other)]
        if by_transform[0] != by_transform[1]:
            score += 3.0 if score > 0.5 else 1.0  # alone it says little
        score -= 2.0 * sum(value.name in self._constants for value in (one, other))
        score -= 0.4 * (len(parts[0]) + len(parts[1]) - 2)
        score -= 1.0 * (not one.shape)
        return score - 1.0 * (one.kind != other.kind)

    def ordered(self, one: Value, other: Value) -> tuple[Value, Value]:
        """The two, the one that looks like a result first."""

        def weight(value: Value) -> int:
            words = _name_words(value.expression)
            return 2 * len(words & GOT) - 2 * len(words & WANT) + (value.name in self._transformed)

        return (one, other) if weight(one) >= weight(other) else (other, one)

    def _printed(self, one: Value, other: Value) -> float:
        lines = [
            {(number, line) for number, (line, words) in enumerate(self._prints) if _mentions(words, value)}
            for value in (one, other)
        ]
        if lines[0] & lines[1]:
            return 4.0 if one.name != other.name else 2.0
        near = any(abs(a[1] - b[1]) <= 2 for a in lines[0] for b in lines[1])
        return 3.0 if near else 0.5 * (bool(lines[0]) and bool(lines[1]))


def _is_print(node: ast.Call) -> bool:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    return name in ("print", "info", "warning", "debug", "write", "log", "echo")


def _words(node: ast.AST) -> frozenset[str]:
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    keys = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return frozenset(names | {key for key in keys if key.isidentifier()})


def _mentions(words: frozenset[str], value: Value) -> bool:
    """By its name, or by the last attribute or key of its path, which a loop's variable may stand before."""
    return [part for part in _parts(value.expression) if not re.fullmatch(r"-?\d+", part)][-1] in words


def _parts(expression: str) -> list[str]:
    """The name, attributes and keys of a path."""
    return [part.strip("'\"") for part in re.split(r"[.\[\]]+", expression) if part]


def _name_words(expression: str) -> frozenset[str]:
    text = re.sub(r"([a-z])([A-Z])", r"\1_\2", expression)
    return frozenset(word.lower() for word in re.split(r"[^A-Za-z]+", text) if word)


def _alike(one: Sequence[str], other: Sequence[str]) -> float:
    """How much two paths look like two ways to the same number."""
    if len(one) == len(other) and sum(a != b for a, b in zip(one, other)) == 1:
        [at] = [k for k, (a, b) in enumerate(zip(one, other)) if a != b]
        if at == 0:
            return _alike_names(one[0], other[0])
        if at == len(one) - 1 and one[at].isdigit():
            return -2.0  # two elements of one sequence
        same_quantity = 4.0 if at < len(one) - 1 else 1.0  # of two things: runs[0].loss and runs[1].loss
        return max(same_quantity, _alike_names(one[at], other[at]))
    if one[0] == other[0]:
        return -1.0
    return _alike_names(one[0], other[0])


def _alike_names(one: str, other: str) -> float:
    words = _name_words(one), _name_words(other)
    opposite = any(a & GOT and b & WANT for a, b in (words, words[::-1]))
    common = words[0] & words[1]
    score = 4.0 if opposite else 0.0
    if common and one != other:
        score += 2.0
    elif re.sub(r"\d+", "", one) == re.sub(r"\d+", "", other):
        score += 1.5
    elif len(one) > 3 and len(other) > 3 and (one.startswith(other[:3]) or one.endswith(other[-3:])):
        score += 0.5
    return score


def _transformed(tree: ast.Module) -> frozenset[str]:
    """The names that hold what a transform gave, or what was made of that."""
    found: set[str] = {name for name in TRANSFORMS if name != "compile"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("torch", "functorch"):
            found |= {a.asname or a.name for a in node.names if a.name in TRANSFORMS}
    size = -1
    while size != len(found):
        size = len(found)
        for node in ast.walk(tree):
            found.update(_bound_by(node, found))
    return frozenset(found)


def _bound_by(node: ast.AST, found: set[str]) -> Iterator[str]:
    """The names that ``node`` binds to something made with a name of ``found``."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For | ast.NamedExpr):
        targets = [node.target]
    elif isinstance(node, ast.FunctionDef):
        if any(_uses(statement, found) for statement in node.body if not isinstance(statement, ast.FunctionDef)):
            yield node.name
        return
    source = getattr(node, "value", None) or getattr(node, "iter", None)
    if source is None or not targets or not _uses(source, found):
        return
    for target in targets:
        for inner in ast.walk(target):
            if isinstance(inner, ast.Name):
                yield inner.id


def _uses(node: ast.AST, found: set[str]) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in found:
            return True
        if isinstance(inner, ast.Attribute) and inner.attr in TRANSFORMS and _from_torch(inner):
            return True
    return False


def _from_torch(node: ast.Attribute) -> bool:
    """``torch.vmap`` and ``torch.func.grad``, but not ``torch.autograd.grad``, which is what they are held against."""
    path = ast.unparse(node.value)
    return path.split(".")[0] in ("torch", "functorch", "func", "fc", "ft") and "autograd" not in path

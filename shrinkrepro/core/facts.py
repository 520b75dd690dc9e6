"""Facts: what one observed run of a program showed, looked up by node path.

Decision: facts are hints. A strategy that reads them proposes fewer and better edits; whether an edit is
right is always decided by a query, so a wrong or missing fact costs a query and never a wrong result.

Wire form (made by ``target.observe``)::

    {"lines": {"12": 3, ...},                       # executed line -> times, lines of the program's own text
     "exprs": {"L:C:EL:EC:Kind": fact, ...}}        # position of the node in the text, ast class name
    fact = {"n": times evaluated, "same": every evaluation gave an equal description,
            "v": description of the first value, "o": identity of the first value (objects, tensors, modules),
            "t": order number of the first evaluation,
            "w": [order number, description] of the next values, up to the eighth, if one differed, else absent,
            "callee": line of the user function or class that a Call reached (only for Call nodes), else absent}

Descriptions (``"v"``), by ``"k"``:

    const     {"k": "const", "r": source text}      None, numbers, short str and bytes, dtypes, devices, slices, Size
    tensor    {"k": "tensor", "shape": [..], "dtype": "float32", "device": "cpu", "grad": requires_grad,
               "layout": "strided", "contiguous": bool, "cls": "Tensor" | "Parameter" | .., "levels": wrapped how often,
               "values": flat list of at most 8 numbers or None, "fill": the one value that all elements have, or None,
               "head": the first 8 numbers of more}
    seq       {"k": "seq", "t": "tuple" | "list" | "set" | class name, "items": [descriptions, at most 8]}
    dict      {"k": "dict", "items": [[key, value], ..]}
    module    {"k": "module", "cls": "torch.nn.modules.linear.Linear", "r": constructor text or None,
               "line": class line or None}
    function  {"k": "function", "name": "torch.sin" or own name, "line": its def's line in the program, or None,
               "owner": line of the class of the object that it is bound to, if that is a class of the program,
               "free": {name: description} of what it reads from functions around it,
               "made": [transform, its options as source], "of": description of the function that was transformed}
    type      {"k": "type", "name": .., "line": class line or None}
    object    {"k": "object", "cls": qualified class name, "line": class line or None}
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shrinkrepro.core.edits import Path

Description = Mapping[str, Any]


@dataclass(frozen=True)
class ExprFact:
    """What was seen of one expression node."""

    count: int  # evaluations
    same: bool  # every evaluation gave an equal description
    value: Description  # of the first value
    identity: int | None  # of the first value, for things that have one
    order: int  # of the first evaluation among all
    callee: int | None  # for a call: the line of the user's def or class that it reached
    later: tuple[Description, ...] = ()  # of the values after the first, up to the eighth, where one differed
    orders: tuple[int, ...] = ()  # of the evaluations that gave them

    def at(self, turn: int) -> Description:
        """The value of evaluation number ``turn``, from 0; of the last for -1; the first where that is not known."""
        known = (self.value, *self.later)
        if turn < 0:
            return known[-1] if len(known) == self.count else self.value
        return known[turn] if turn < len(known) else self.value

    @property
    def kind(self) -> str:
        return str(self.value["k"])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a tensor as the program saw it (inside vmap: without the batch dimension)."""
        return tuple(self.value["shape"])


class Facts:
    """The facts of one program. ``Facts.none()`` knows nothing; ``ran`` and ``of`` then answer None."""

    def __init__(self, tree: ast.Module | None = None, wire: Mapping[str, Any] | None = None) -> None:
        self._known = wire is not None and tree is not None
        self._lines: dict[int, int] = {}
        self._exprs: dict[Path, ExprFact] = {}
        self._reference: Facts | None = None
        if tree is None or wire is None:
            return
        self._lines = {int(line): int(n) for line, n in wire.get("lines", {}).items()}
        self._tree = tree
        exprs = wire.get("exprs", {})
        stack: list[tuple[Path, ast.AST]] = [((), tree)]
        while stack:
            path, node = stack.pop()
            for field, value in ast.iter_fields(node):
                if isinstance(value, ast.AST):
                    stack.append(((*path, field), value))
                elif isinstance(value, list):
                    stack.extend(((*path, field, i), v) for i, v in enumerate(value) if isinstance(v, ast.AST))
            if isinstance(node, ast.expr):
                raw = exprs.get(position_key(node))
                if raw is not None:
                    self._exprs[path] = ExprFact(
                        int(raw["n"]),
                        bool(raw["same"]),
                        raw["v"],
                        raw.get("o"),
                        int(raw["t"]),
                        raw.get("callee"),
                        tuple(seen for _, seen in raw.get("w", ())),
                        tuple(int(order) for order, _ in raw.get("w", ())),
                    )

    @classmethod
    def none(cls) -> Facts:
        """Facts that know nothing."""
        return cls()

    def against(self, reference: Facts) -> Facts:
        """These facts beside those of a run without the bug."""
        self._reference = reference
        return self

    @property
    def compared(self) -> bool:
        """Whether a run without the bug was asked for already, whatever it showed."""
        return self._reference is not None

    @property
    def reference(self) -> Facts:
        """What a run of the same program showed in which the bug is absent, where a strategy asked for it."""
        return self._reference if self._reference is not None else Facts.none()

    @property
    def known(self) -> bool:
        """Whether there was an observed run at all."""
        return self._known

    def of(self, path: Path) -> ExprFact | None:
        """What was seen of the expression at ``path``; None when it was never evaluated or nothing is known."""
        return self._exprs.get(path)

    def items(self) -> Mapping[Path, ExprFact]:
        """All expression facts by path."""
        return self._exprs

    def ran(self, statement: ast.stmt) -> bool | None:
        """Whether any line of ``statement`` ran; None when nothing is known.

        For a definition it says whether its *body* ran; a docstring alone does not count as a body.
        """
        return self.count(statement) > 0 if self._known else None

    def count(self, statement: ast.stmt) -> int:
        """How often the statement's busiest line ran (0 when nothing is known)."""
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            return max((self.count(s) for s in statement.body), default=0)
        first = statement.lineno
        last = statement.end_lineno or first
        return max((self._lines.get(line, 0) for line in range(first, last + 1)), default=0)


def unseen_bodies(tree: ast.Module, wire: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Line ranges of functions whose body ran but of which no expression was seen: a compiler traced them."""
    lines = {int(line) for line in wire.get("lines", {})}
    seen = {int(key.split(":", 1)[0]) for key in wire.get("exprs", {})}
    found: list[tuple[int, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
            if any(line in lines for line in body) and not any(line in seen for line in body):
                found.append((body.start, body.stop))
    return found


def completed(wire: Mapping[str, Any], other: Mapping[str, Any], bodies: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """``wire`` with the expressions that ``other`` (facts of the control run) has in the ``bodies``."""

    def inside(key: str) -> bool:
        line = int(key.split(":", 1)[0])
        return any(first <= line < last for first, last in bodies)

    added = {key: fact for key, fact in other.get("exprs", {}).items() if inside(key)}
    return {**wire, "exprs": {**wire.get("exprs", {}), **added}}


def position_key(node: ast.expr) -> str:
    """The wire key of an expression node, from its position in the program's text."""
    return f"{node.lineno}:{node.col_offset}:{node.end_lineno}:{node.end_col_offset}:{type(node).__name__}"

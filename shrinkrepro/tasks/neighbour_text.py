"""A program as text in which single nodes are exchanged: what neighbours are made with.

Decision: a neighbour is spliced from the program's own text, so that it differs from it in nothing but what was
exchanged, and a diff of the two shows only that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

FACTORIES = frozenset({"zeros", "ones", "rand", "randn", "empty", "full", "eye", "arange", "linspace", "tensor"})


@dataclass(frozen=True)
class Neighbour:
    """One program beside the program: ``group`` is the direction in which it lies, ``title`` what was exchanged."""

    group: str
    title: str
    source: str
    slow: bool = False  # a compiler takes seconds


class Text:
    """The program ``source``, which must parse."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """First character of ``node`` and the one after its last."""
        return (
            self._at(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self._at(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def of(self, node: ast.AST) -> str:
        """The text of ``node``."""
        start, end = self.span(node)
        return self.source[start:end]

    def operand(self, node: ast.AST) -> str:
        """The text of ``node`` as something that a call or an attribute can stand behind."""
        text = self.of(node)
        return text if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript) else f"({text})"

    def replaced(self, new: Mapping[ast.AST, str]) -> str:
        """The source with the text of each node in ``new``; of nodes inside each other the outer one counts."""
        return self.spliced({self.span(node): text for node, text in new.items()})

    def spliced(self, new: Mapping[tuple[int, int], str]) -> str:
        """The source with new text between the characters that each key names."""
        parts, at = [], 0
        for (start, end), text in sorted(new.items(), key=lambda item: (item[0][0], -item[0][1])):
            if start < at:
                continue
            parts += [self.source[at:start], text]
            at = end
        return "".join([*parts, self.source[at:]])

    def without_decorator(self, node: ast.expr) -> str:
        """The source without the decorator ``node``, its line included."""
        start, end = self.span(node)
        first = self.source.rfind("\n", 0, start) + 1
        last = self.source.find("\n", end) + 1
        return self.spliced({(first, last or len(self.source)): ""})

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of every node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def names(self) -> dict[str, str]:
        """What each imported name stands for, in full: ``F`` for ``torch.nn.functional``."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return found

    @cached_property
    def torch(self) -> str:
        """What the program calls torch."""
        return next((name for name, full in self.names.items() if full == "torch"), "torch")

    @property
    def imported(self) -> bool:
        """Whether torch has a name in the program."""
        return "torch" in self.names.values()

    def dotted(self, node: ast.AST) -> str:
        """The full name that ``node`` stands for, empty if it is no name of a library's."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return ""
        return ".".join([self.names[node.id], *reversed(parts)])

    def calls(self) -> Iterator[tuple[ast.Call, str]]:
        """Every call of a library's function with its full name, in the order of the text."""
        found = [(node, self.dotted(node.func)) for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        yield from sorted(((c, n) for c, n in found if n), key=lambda pair: self.span(pair[0])[0])

    def factories(self) -> list[tuple[ast.Call, str]]:
        """The calls that make a tensor from plain numbers, each with its short name."""
        found = []
        for call, name in self.calls():
            head, _, last = name.rpartition(".")
            if head == "torch" and last in FACTORIES:
                found.append((call, last))
        return found

    def _at(self, line: int, column: int) -> int:
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return self._starts[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))


def with_keyword(text: Text, call: ast.Call, name: str, value: str) -> str:
    """The text of ``call`` with ``name=value``, in the place of that keyword if it has one."""
    start, end = text.span(call)
    for keyword in call.keywords:
        if keyword.arg == name:
            first, last = text.span(keyword.value)
            return text.source[start:first] + value + text.source[last:end]
    body = text.source[start : end - 1].rstrip()
    comma = "" if body.endswith(("(", ",")) else ", "
    return f"{body}{comma}{' ' if body.endswith(',') else ''}{name}={value})"

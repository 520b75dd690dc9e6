"""A program: parsed source in normal form, with its nodes addressed by paths.

Decision: a program is immutable and its source is always what ``ast.unparse`` prints for its tree, so a
node's position in the tree *is* its position in the text. Candidates share every statement that an edit
leaves alone with their base, and their text is spliced from the base's lines.
"""

from __future__ import annotations

import ast
import bisect
import io
import tokenize
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, overload

from shrinkrepro.core.edits import Path

if TYPE_CHECKING:
    from shrinkrepro.core.scopes import Scopes

N = TypeVar("N", bound=ast.AST)
M = TypeVar("M", bound=ast.AST)
K = TypeVar("K", bound=ast.AST)

_LAYOUT = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)
_FSTRING_START = getattr(tokenize, "FSTRING_START", -1)
_FSTRING_END = getattr(tokenize, "FSTRING_END", -1)


def token_starts(source: str) -> list[tuple[int, int]]:
    """Start (line, column in characters) of every lexical token; an f-string counts as one.

    Raises:
        tokenize.TokenError, SyntaxError: the text cannot be tokenized.
    """
    starts: list[tuple[int, int]] = []
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == _FSTRING_START:
            depth += 1
            if depth == 1:
                starts.append(token.start)
        elif token.type == _FSTRING_END:
            depth -= 1
        elif depth == 0 and token.type not in _LAYOUT:
            starts.append(token.start)
    return starts


def count_tokens(source: str) -> int:
    """Lexical tokens of ``source``: the unit in which sizes are given."""
    return len(token_starts(source))


class Program:
    """Immutable. ``source`` is the normal form; equality and hash are the source's."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        self.source = source
        self.tree = tree

    @classmethod
    def parse(cls, source: str) -> Program:
        """The program of ``source``, brought to normal form.

        Raises:
            SyntaxError: ``source`` does not parse (also ValueError's null bytes and over-deep nesting).
        """
        try:
            text = ast.unparse(ast.parse(source))
            return cls(text, ast.parse(text))
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error)) from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and other.source == self.source

    def __hash__(self) -> int:
        return hash(self.source)

    def __repr__(self) -> str:
        return f"Program({self.source!r})"

    @cached_property
    def lines(self) -> list[str]:
        """The source's lines, without their ends."""
        return self.source.split("\n")

    @cached_property
    def statements(self) -> dict[int, ast.stmt]:
        """Every statement by its ``id``: what an application may share."""
        return {id(node): node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)}

    @cached_property
    def _index(self) -> list[tuple[Path, ast.AST]]:
        found: list[tuple[Path, ast.AST]] = []
        stack: list[tuple[Path, ast.AST]] = [((), self.tree)]
        while stack:
            path, node = stack.pop()
            found.append((path, node))
            children: list[tuple[Path, ast.AST]] = []
            for field, value in ast.iter_fields(node):
                if isinstance(value, ast.AST):
                    children.append(((*path, field), value))
                elif isinstance(value, list):
                    children.extend(((*path, field, i), v) for i, v in enumerate(value) if isinstance(v, ast.AST))
            stack.extend(reversed(children))
        return found

    @cached_property
    def _by_path(self) -> dict[Path, ast.AST]:
        return dict(self._index)

    @cached_property
    def paths(self) -> dict[int, Path]:
        """Path of every node by its ``id`` (context and operator singletons excepted)."""
        return {id(node): path for path, node in self._index}

    @overload
    def walk(self) -> Iterator[tuple[Path, ast.AST]]: ...
    @overload
    def walk(self, kind: type[N], /) -> Iterator[tuple[Path, N]]: ...
    @overload
    def walk(self, kind: type[N], other: type[M], /) -> Iterator[tuple[Path, N | M]]: ...
    @overload
    def walk(self, kind: type[N], other: type[M], third: type[K], /) -> Iterator[tuple[Path, N | M | K]]: ...
    @overload
    def walk(self, *kinds: type[N]) -> Iterator[tuple[Path, N]]: ...
    def walk(self, *kinds: type[ast.AST]) -> Iterator[tuple[Path, ast.AST]]:
        """Every (path, node), outermost first in source order; with ``kinds`` only nodes of those classes."""
        for path, node in self._index:
            if not kinds or isinstance(node, kinds):
                yield path, node

    def node(self, path: Path) -> ast.AST:
        """The node at ``path``. Raises KeyError when there is none."""
        return self._by_path[path]

    def parent(self, path: Path) -> tuple[Path, ast.AST]:
        """Path and node of the parent of the node at ``path`` (not for the module itself)."""
        up = path[:-2] if isinstance(path[-1], int) else path[:-1]
        return up, self._by_path[up]

    def ancestors(self, path: Path) -> Iterator[tuple[Path, ast.AST]]:
        """Path and node of the parent, the grandparent, ... up to the module."""
        while path:
            path, node = self.parent(path)
            yield path, node

    def statement_of(self, path: Path) -> tuple[Path, ast.stmt]:
        """The innermost statement that holds ``path`` (or is it)."""
        node = self._by_path[path]
        while not isinstance(node, ast.stmt):
            path, node = self.parent(path)
        return path, node

    def enclosing(self, path: Path, *kinds: type[N]) -> tuple[Path, N] | None:
        """The innermost proper ancestor of one of ``kinds``, or None."""
        for up, node in self.ancestors(path):
            if isinstance(node, kinds):
                return up, node
        return None

    def text(self, node: ast.AST) -> str:
        """Source of one node."""
        return ast.unparse(node)

    def written(self, statement: ast.stmt) -> str:
        """Source of one statement, as ``text`` gives it, but sliced: a long program's are asked for by the thousand."""
        first, last = _span(statement)
        if first is None or last is None:
            return self.text(statement)
        column = statement.col_offset  # indentation, in which a character is a byte
        lines = self.lines[first[0] - 1 : last[0]]
        text = "\n".join(line[column:] if line[:column].isspace() else line for line in lines)
        return text.removeprefix("el") if isinstance(statement, ast.If) else text

    @cached_property
    def scopes(self) -> Scopes:
        """Which name means which binding."""
        from shrinkrepro.core.scopes import Scopes

        return Scopes(self)

    @cached_property
    def _token_starts(self) -> list[tuple[int, int]]:
        return token_starts(self.source)

    @property
    def tokens(self) -> int:
        """Lexical tokens of the source."""
        return len(self._token_starts)

    def size(self, path: Path) -> int:
        """Lexical tokens of the node at ``path`` (decorators of a definition included; 0 without a position)."""
        node = self._by_path[path]
        if not path:
            return self.tokens
        first, last = _span(node)
        if first is None or last is None:
            return 0
        start = (first[0], _characters(self.lines, *first))
        end = (last[0], _characters(self.lines, *last))
        return bisect.bisect_left(self._token_starts, end) - bisect.bisect_left(self._token_starts, start)


def _span(node: ast.AST) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    if not isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.ExceptHandler):
        parts = [p for child in ast.iter_child_nodes(node) for p in _span(child) if p is not None]
        return (min(parts), max(parts)) if parts else (None, None)
    first = (node.lineno, node.col_offset)
    for decorator in getattr(node, "decorator_list", ()):
        first = min(first, (decorator.lineno, max(decorator.col_offset - 1, 0)))
    return first, (node.end_lineno or node.lineno, node.end_col_offset or 0)


def _characters(lines: list[str], line: int, column: int) -> int:
    text = lines[line - 1]
    return column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))


def parse_statements(text: str) -> list[ast.stmt]:
    """The statements of ``text``. Raises SyntaxError."""
    return ast.parse(text).body


def parse_expression(text: str) -> ast.expr:
    """The expression that ``text`` is. Raises SyntaxError."""
    return ast.parse(text, mode="eval").body


def last_name(node: ast.expr) -> str:
    """The last word of a name or an attribute, empty for anything else: ``allclose`` of ``torch.allclose``."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def bound_by_import(alias: ast.alias) -> str:
    """The name that an import's alias binds."""
    return alias.asname or alias.name.split(".")[0]

"""``-k EXPR``: which names an expression of words, ``and``, ``or``, ``not`` and brackets picks, as pytest's does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shrinkrepro.errors import UsageError

_TOKEN = re.compile(r"\s*(?:(?P<bracket>[()])|(?P<word>[^\s()]+))")


@dataclass(frozen=True)
class Selection:
    """A parsed expression; an empty one picks all."""

    expression: str

    def __post_init__(self) -> None:
        self.holds("")  # a wrong one is told at once

    def holds(self, name: str) -> bool:
        """Whether ``name`` is picked: a word holds when it is part of the name, in any case of letters.

        Raises:
            UsageError: the expression is wrong.
        """
        if not self.expression.strip():
            return True
        reader = _Reader([m["bracket"] or m["word"] for m in _TOKEN.finditer(self.expression)], name.lower())
        value = reader.any_of()
        if reader.tokens:
            raise self._wrong(f"{reader.tokens[0]!r} has no place there")
        if reader.fault:
            raise self._wrong(reader.fault)
        return value

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"-k {self.expression!r} cannot be read: {what}", "write it as in: -k 'vmap and not jvp'")


@dataclass
class _Reader:
    tokens: list[str]
    name: str
    fault: str = ""

    def any_of(self) -> bool:
        value = self.all_of()
        while self._take("or"):
            value = self.all_of() or value
        return value

    def all_of(self) -> bool:
        value = self.one()
        while self._take("and"):
            value = self.one() and value
        return value

    def one(self) -> bool:
        if self._take("not"):
            return not self.one()
        if self._take("("):
            value = self.any_of()
            if not self._take(")"):
                self.fault = "a bracket stays open"
            return value
        if not self.tokens or self.tokens[0] in ("and", "or", ")"):
            self.fault = "a word is missing"
            return False
        return self.tokens.pop(0).lower() in self.name

    def _take(self, token: str) -> bool:
        if self.tokens and self.tokens[0] == token:
            self.tokens.pop(0)
            return True
        return False

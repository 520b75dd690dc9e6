"""The names that the variables of several modules get in the one file that they are folded into.

Decision: a variable keeps its name unless another module's variable, a builtin that some module reads, or a
local variable at a place of use stands in the way; then its module's name goes in front. Main goes first.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence

from shrinkrepro.core.import_graph import MAIN, ImportGraph, Symbol
from shrinkrepro.core.module_scopes import Scope

_SPECIAL = frozenset({"__getattr__", "__dir__", "__all__"})  # they would mean something in the one file


class FoldedNames:
    """Records uses of symbols, or answers with their settled names."""

    def __init__(self) -> None:
        self._uses: dict[Symbol, list[tuple[frozenset[str], str]]] = {}
        self._final: dict[Symbol, str] | None = None
        self._reserved = {"__name__", "__file__", "__doc__"}

    def reserve(self, name: str) -> None:
        """Keep ``name`` free for what it means in the one file without any symbol."""
        self._reserved.add(name)

    def of(self, symbol: Symbol, scope: Scope | None = None, spelled: str = "") -> str:
        """The name of ``symbol``; ``spelled`` is how the module itself calls it at that place, if it does."""
        if self._final is not None:
            if symbol not in self._final:  # the recording run did not come by here
                self._final[symbol] = self._choose(symbol, {*self._reserved, *self._final.values()})
            return self._final[symbol]
        self._uses.setdefault(symbol, []).append((scope.hidden() if scope else frozenset(), spelled))
        return symbol.base

    def settle(self, graph: ImportGraph, emitted: Sequence[str]) -> FoldedNames:
        """The final names, from the recorded uses and from all variables of main and the ``emitted`` modules."""
        order = list(dict.fromkeys([MAIN, *emitted, *sorted(graph.closure(MAIN))]))
        symbols = dict.fromkeys(s for s in self._uses if not s.module)
        for name in order:
            module = graph.modules[name]
            for bound in module.top.bound:
                meaning = graph.meaning(module, module.top, bound)
                if isinstance(meaning, Symbol):
                    symbols[meaning] = None
        symbols.update(dict.fromkeys(self._uses))
        reserved = set(self._reserved)
        for name in order:
            module = graph.modules[name]
            for occurrence in module.scopes.occurrences:
                if occurrence.free:
                    reserved.add(occurrence.name)
        rank = {name: index for index, name in enumerate(["", *order])}
        settled = FoldedNames()
        settled._final = {}
        settled._reserved = reserved
        taken = set(reserved)
        for symbol in sorted(symbols, key=lambda s: rank.get(s.module, len(rank))):
            settled._final[symbol] = self._choose(symbol, taken)
            taken.add(settled._final[symbol])
        return settled

    def _choose(self, symbol: Symbol, taken: set[str]) -> str:
        uses = self._uses.get(symbol, [])
        for name in _candidates(symbol):
            if name in taken or (name != symbol.base and hasattr(builtins, name)):
                continue
            if all(name == spelled or name not in hidden for hidden, spelled in uses):
                return name
        raise AssertionError("there is always a free name")


def _candidates(symbol: Symbol) -> Iterator[str]:
    base = symbol.base
    if base not in _SPECIAL or symbol.module in ("", MAIN):
        yield base
    module = symbol.module.strip("_") or "shared"
    for owner in (module.rpartition(".")[2], module.replace(".", "_")):
        plain = base.strip("_")
        if plain[:1].isupper() and not plain.isupper():
            yield "".join(part[:1].upper() + part[1:] for part in owner.split("_")) + plain
        elif plain.isupper() and len(plain) > 1:
            yield f"{owner.upper()}_{plain}"
        else:
            yield f"{owner}_{plain}"
    number = 2
    while True:
        yield f"{owner}_{plain}_{number}"
        number += 1

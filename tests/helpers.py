"""What the pure tests share: candidates of a strategy, and reductions under a syntactic condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shrinkrepro.core.apply import Inapplicable, apply
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Strategy


def candidates(strategy: Strategy, source: str, wire: Mapping[str, Any] | None = None) -> list[str]:
    """The normal-form texts of all edits that ``strategy`` proposes for ``source``, one by one."""
    program = Program.parse(source)
    facts = Facts(program.tree, wire) if wire is not None else Facts.none()
    texts = []
    for edit in strategy.propose(program, facts):
        try:
            texts.append(Program.parse(apply(program, [edit])).source)
        except Inapplicable:
            continue
    return texts


def normal(source: str) -> str:
    """``source`` in normal form, for comparison with ``candidates``."""
    return Program.parse(source).source

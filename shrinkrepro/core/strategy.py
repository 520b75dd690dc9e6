"""The contract of a strategy: a pure function that proposes edits.

Decision: a strategy keeps no state and asks no query. Which proposals are tried, in which order and
how they are combined is the engine's business; so every strategy gains from every search algorithm,
and a strategy of a third party cannot break termination.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shrinkrepro.core.edits import Edit
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program


class Tier(enum.IntEnum):
    """When a strategy runs: a lower tier is repeated until it is fruitless before the next one starts."""

    COARSE = 0  # large cuts: what never ran, definitions, statements
    MEDIUM = 1  # restructuring: inline, flatten, value for expression
    FINE = 2  # small cuts: arguments, literals, operators
    POLISH = 3  # equal size, simpler: names, literals, spelling


Proposer = Callable[[Program, Facts], Iterator[Edit]]


@dataclass(frozen=True)
class Strategy:
    """A named proposer of edits.

    ``independent``: most of its edits can be made together, so the search may try many at once.
    ``grows``: its edits may make the program larger for a while (inlining); the engine follows them on a
    side branch that is adopted only if it ends below its start.
    ``against_reference``: it reads ``Facts.reference``, which costs one more observed run.
    """

    name: str
    tier: Tier
    propose: Proposer
    independent: bool = False
    grows: bool = False
    against_reference: bool = False

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (self.propose.__doc__ or "").strip().splitlines()[0]


def strategy(
    name: str, *, tier: Tier, independent: bool = False, grows: bool = False, against_reference: bool = False
) -> Callable[[Proposer], Strategy]:
    """Make a ``Strategy`` of a generator function; its docstring's first line is its help text.

    Raises:
        ValueError: the function has no docstring.
    """

    def decorate(function: Proposer) -> Strategy:
        if not (function.__doc__ or "").strip():
            raise ValueError(f"strategy {name!r} has no docstring; its first line is the help text")
        return Strategy(name, tier, function, independent, grows, against_reference)

    return decorate

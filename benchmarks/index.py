"""The cases: INDEX.tsv as typed rows.

Decision: the table is the only list of cases; a file that it does not name is not one.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """One row of INDEX.tsv; cases/README.md says what the columns mean."""

    name: str
    script: Path
    kind: str
    args: tuple[str, ...]
    signature: str
    keeps: str
    removed: str
    source: str

    @property
    def by_hand(self) -> Path:
        """The version minimised by hand."""
        return CASES / "min" / f"{self.name}.py"

    @property
    def sources(self) -> tuple[Path, ...]:
        """The script and, where the case is a folder, the modules beside it."""
        if self.script.parent == CASES:
            return (self.script,)
        return tuple(sorted(self.script.parent.glob("*.py")))


def load(index: Path = CASES / "INDEX.tsv") -> tuple[Case, ...]:
    """All cases, in the order of the table."""
    with index.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return tuple(
        Case(
            name=row["name"],
            script=index.parent / row["path"],
            kind=row["kind"],
            args=tuple(shlex.split(row["args"])),
            signature=row["signature"],
            keeps=row["keeps"],
            removed=row["removed"],
            source=row["source"],
        )
        for row in rows
    )


def select(cases: Iterable[Case], kinds: Sequence[str] = (), only: Sequence[str] = ()) -> tuple[Case, ...]:
    """The cases of these kinds whose name starts with one of ``only``; empty means all.

    Raises ``ValueError`` for a kind or a name that no case has.
    """
    found = tuple(cases)
    for kind in kinds:
        if not any(c.kind == kind for c in found):
            raise ValueError(f"no case is of kind {kind!r}; kinds: {', '.join(sorted({c.kind for c in found}))}")
    for name in only:
        if not any(c.name.startswith(name) for c in found):
            raise ValueError(f"no case is called {name!r}")
    return tuple(
        c for c in found if (not kinds or c.kind in kinds) and (not only or any(c.name.startswith(n) for n in only))
    )

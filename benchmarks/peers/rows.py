"""The rows: one run of one reducer on one script, as a line of JSON.

Decision: a row that is there is not run again, and a later row of the same run replaces an earlier one, so that a table
can be made over days and one tool can be measured anew without the others.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "rows"
OURS = "shrinkrepro"


@dataclass(frozen=True)
class Row:
    """One run. ``curve`` has (seconds, wall seconds, queries, tokens) whenever a smaller interesting text was found; a
    peer's ``source`` is the smallest text for which the test said yes, whatever it had on disk when its time was up.

    Seconds are processor seconds of all processes of the run, as in ``clock``; those of ``fresh`` are of runs of the
    script alone, before and after. ``ended``: "finished", "budget", or how it failed.
    """

    subject: str
    kind: str
    peer: str
    mode: str  # fresh, served; of shrinkrepro: reduce
    budget: float
    before: int
    by_hand: int | None = None
    after: int | None = None
    curve: tuple[tuple[float, float, int, int], ...] = ()
    queries: int = 0
    run: int = 0
    seconds: float = 0.0
    wall: float = 0.0
    fresh: tuple[float, ...] = ()
    ended: str = ""
    truth: str = ""  # same, broken, slipped: ``subjects`` says what they mean
    why: str = ""
    source: str = ""
    version: str = ""
    torch: str = ""
    date: str = ""
    machine: Mapping[str, str | int | float] = dataclasses.field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str, float]:
        """What makes it the same run as another."""
        return self.subject, self.peer, self.mode, self.budget

    def reached(self, size: int) -> tuple[float, int] | None:
        """When it first had ``size`` tokens or fewer: (seconds, queries); None if it never did."""
        return next(((seconds, queries) for seconds, _, queries, tokens in self.curve if tokens <= size), None)


def append(row: Row, folder: Path = FOLDER) -> None:
    """Add a row to the file of its day."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{row.date[:10]}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(dataclasses.asdict(row)) + "\n")


def load(folder: Path = FOLDER) -> list[Row]:
    """All rows, the latest of each run, in the order in which the runs were first made.

    Raises:
        ValueError: a line is no row; it is named.
    """
    return list({row.key: row for row in _read(folder)}.values())


def _read(folder: Path) -> Iterator[Row]:
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                data = json.loads(line)
                data["curve"] = tuple(tuple(point) for point in data["curve"])
                data["fresh"] = tuple(data["fresh"])
                yield Row(**data)
            except (ValueError, TypeError, KeyError) as error:
                raise ValueError(f"{path.name}, line {number}: no row ({error})") from error

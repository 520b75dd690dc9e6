"""What the rows come to: means with their spread, times at equal size, and where we lose.

Decision: only runs on the same script are compared, so every figure says of how many scripts it is; a slipped result
has no size that counts.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.peers.rows import OURS, Row
from benchmarks.peers.subjects import SLIPPED


@dataclass(frozen=True)
class Spread:
    """A geometric mean and its geometric standard deviation: a factor of 1 or more."""

    mean: float
    factor: float
    count: int

    def __str__(self) -> str:
        if not self.count:
            return "-"
        digits = 0 if self.mean >= 100 else 1 if self.mean >= 10 else 2
        return f"{self.mean:.{digits}f} ×÷ {self.factor:.1f}" if self.count > 1 else f"{self.mean:.{digits}f}"


def spread(values: Iterable[float]) -> Spread:
    """Of positive numbers."""
    logs = [math.log(value) for value in values]
    if not logs:
        return Spread(math.nan, math.nan, 0)
    return Spread(math.exp(statistics.fmean(logs)), math.exp(statistics.pstdev(logs)), len(logs))


def ours(rows: Sequence[Row]) -> dict[str, Row]:
    """Our row of each subject that came to a result."""
    return {row.subject: row for row in rows if row.peer == OURS and row.after is not None}


def same_bug(row: Row) -> bool:
    """Whether there is a result, and it is not another failure."""
    return row.after is not None and row.truth != SLIPPED


def cost(row: Row) -> float:
    """Its time in fresh runs of the script, as they took around it."""
    return row.seconds / statistics.fmean(row.fresh)


@dataclass(frozen=True)
class Race:
    """When a peer had its last size, and when we were as small. Times in seconds; ``ours`` is None if we never were."""

    peer: Row
    size: int
    theirs: float
    ours: float | None

    @property
    def times(self) -> float:
        """How many times sooner we were there; 0 if we never were."""
        return self.theirs / self.ours if self.ours else 0.0


def race(mine: Row, peer: Row) -> Race | None:
    """The race of one peer with us; None where it came to no smaller program or slipped."""
    if not same_bug(peer) or len(peer.curve) < 2:
        return None
    theirs, *_, size = peer.curve[-1]
    reached = mine.reached(size) if same_bug(mine) else None
    return Race(peer, size, theirs, reached[0] if reached else None)


def best_races(rows: Sequence[Row], mode: str) -> list[Race]:
    """Of each subject the race with its best peer in ``mode``: that with the smallest program, at the earliest."""
    mine, found = ours(rows), []
    for subject in mine:
        races = [race(mine[subject], row) for row in rows if row.subject == subject and row.mode == mode]
        known = [one for one in races if one is not None]
        if known:
            found.append(min(known, key=lambda one: (one.size, one.theirs)))
    return found


def losses(rows: Sequence[Row]) -> list[str]:
    """Where a peer did better, or we did not end well; one line each."""
    mine, found = ours(rows), []
    for row in rows:
        if row.peer == OURS:
            if row.after is None or row.ended != "finished" or row.truth not in ("same", ""):
                found.append(f"{row.subject}: ours {row.ended}, {row.truth or 'no result'} {row.why}".strip())
            continue
        own = mine.get(row.subject)
        if own is None or own.after is None:
            continue
        run = race(own, row)
        if run is None or row.after is None:
            continue
        where = f"{row.subject}: {row.peer}, {row.mode}"
        if row.after < own.after:
            found.append(f"{where}: smaller, {row.after} tokens against {own.after} ({row.truth})")
        elif run.ours is not None and run.theirs < run.ours:
            found.append(f"{where}: sooner at {run.size} tokens, {run.theirs:.0f} s against {run.ours:.0f} s")
    return found

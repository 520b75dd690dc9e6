"""The benchmark's table: a row a case, then geometric means, medians and maxima."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One case's measurements. ``after`` is None where nothing came out, and ``error`` says why.

    ``fresh_before`` and ``fresh_after`` are seconds of fresh runs of the original script; ``cost`` is the
    reduction's wall time in medians of them.
    """

    name: str
    kind: str
    before: int
    by_hand: int
    after: int | None = None
    run: int = 0
    cached: int = 0
    filtered: int = 0
    seconds: float = 0.0
    fresh_before: tuple[float, ...] = ()
    fresh_after: tuple[float, ...] = ()
    confirmed: str = ""
    ended: str = ""
    exit_code: int = 0
    checks: str = ""
    slipped: bool = False
    why: tuple[str, ...] = ()
    error: str = ""
    signature: str = ""
    findings: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    source: str = ""

    @property
    def ratio(self) -> float | None:
        """Tokens after / by hand."""
        return None if self.after is None else self.after / self.by_hand

    @property
    def fresh(self) -> float:
        """The median fresh run, in seconds."""
        times = self.fresh_before + self.fresh_after
        return statistics.median(times) if times else math.nan

    @property
    def cost(self) -> float:
        """Wall time in fresh runs."""
        return self.seconds / self.fresh


HEADER = (
    f"{'case':38} {'kind':15} {'before':>6} {'after':>5} {'hand':>4} {'ratio':>5}  "
    f"{'run':>5} {'cached':>6} {'filt':>6}  {'wall s':>6} {'fresh s':>7} {'cost':>6}  {'conf':>4} {'ended':11} checks"
)


def line(row: Row) -> str:
    """The row as text; what failed goes below it."""
    after, ratio = ("-", "-") if row.ratio is None else (str(row.after), f"{row.ratio:.2f}")
    text = (
        f"{row.name[:38]:38} {row.kind:15} {row.before:6} {after:>5} {row.by_hand:4} {ratio:>5}  "
        f"{row.run:5} {row.cached:6} {row.filtered:6}  {row.seconds:6.1f} {row.fresh:7.2f} {row.cost:6.1f}  "
        f"{row.confirmed:>4} {row.ended:11} {row.checks}"
    )
    below = [f"    {w}" for w in row.why]
    below += [f"    strategy fault: {f}" for f in row.faults]
    if row.error:
        below.append(f"    exit {row.exit_code}: {row.error}")
    return "\n".join([text.rstrip(), *below])


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean; of none, not a number."""
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else math.nan


def summary(rows: Sequence[Row], budget: float) -> str:
    """Means, medians and maxima over the cases that came to a result, and what went wrong in the others."""
    done = [r for r in rows if r.after is not None]
    lines = [f"{len(rows)} cases, {len(done)} reduced"]

    def add(label: str, values: Sequence[float], digits: int = 2) -> None:
        if values:
            lines.append(
                f"{label:28} geometric mean {geometric_mean(values):8.{digits}f}   "
                f"median {statistics.median(values):8.{digits}f}   max {max(values):8.{digits}f}"
            )

    add("tokens after / by hand", [r.ratio for r in done if r.ratio is not None])
    add("tokens after", [float(r.after) for r in done if r.after], 1)
    add("tokens before", [float(r.before) for r in done], 1)
    add("cost in fresh runs", [r.cost for r in done if r.cost > 0], 1)
    add("wall seconds", [r.seconds for r in done if r.seconds > 0], 1)
    add("queries run", [float(r.run) for r in done if r.run], 1)

    def name_them(label: str, names: Sequence[str]) -> None:
        lines.append(f"{label}: {len(names)}" + (f" ({', '.join(names)})" if names else ""))

    name_them("slips", [r.name for r in done if r.slipped])
    name_them("not confirmed", [r.name for r in done if r.exit_code not in (0, 70)])
    name_them(
        f"did not end by itself within {budget:.0f} s",
        [r.name for r in rows if r.ended not in ("minimal", "given") or r.seconds > budget],
    )
    name_them("over four times the hand version", [r.name for r in done if (r.ratio or 0) > 4])
    name_them("no result", [r.name for r in rows if r.after is None])
    name_them("strategy faults", [r.name for r in rows if r.faults])
    return "\n".join(lines)

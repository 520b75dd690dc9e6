"""``make bench-growth``: the same failures inside generated scripts of 100, 1,000 and 10,000 lines.

Decision: the growth of queries is judged per decade of lines, because the logarithm allows the same number for each;
seconds are also given as processor time, which a busy machine does not change.
"""

from __future__ import annotations

import itertools
import json
import resource
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import fresh, growth_scripts, tokens
from benchmarks.bench import reduce_case, seconds
from benchmarks.index import Case

SIZES = (100, 1_000, 10_000)
LIMIT = 300.0  # seconds that the longest script may take
NOISE = 60  # queries by which a decade may exceed the one before it: a batch and a half


@dataclass(frozen=True)
class Row:
    """One reduction. ``cpu`` is processor time of all its processes, ``fresh`` a run of the script; both in seconds."""

    failure: str
    lines: int
    before: int
    queries: int
    seconds: float
    cpu: float
    fresh: float
    after: int | None
    ended: str
    source: str
    error: str = ""

    @property
    def cost(self) -> float:
        """Wall time in fresh runs of the script."""
        return self.seconds / self.fresh


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(script: growth_scripts.Script, folder: Path, options: Sequence[str], budget: float, python: str) -> Row:
    """Reduce one generated script with the command that a user types."""
    name = f"{script.failure}_{script.lines}"
    path = folder / f"{name}.py"
    path.write_text(script.source, encoding="utf-8")
    alone = statistics.median(fresh.time_runs(python, path, 3, budget))
    case = Case(name, path, "generated", (), "", "", "", "")
    results = folder / "reduced"
    results.mkdir(exist_ok=True)
    before = _children()
    found = reduce_case(case, results, options, budget, python)
    return Row(
        failure=script.failure,
        lines=script.lines,
        before=tokens.count(script.source),
        queries=found.get("run", 0),
        seconds=found["seconds"],
        cpu=_children() - before,
        fresh=alone,
        after=found.get("after"),
        ended=found.get("ended", "-"),
        source=found.get("source", ""),
        error=found.get("error", ""),
    )


_NAMES = ("failure", "lines", "before", "queries", "wall s", "cpu s", "cost", "after")
HEADER = "{:10} {:>6} {:>6} {:>7} {:>7} {:>6} {:>5} {:>5} ended".format(*_NAMES)


def line(row: Row) -> str:
    """The row as text."""
    after = "-" if row.after is None else str(row.after)
    text = (
        f"{row.failure:10} {row.lines:6} {row.before:6} {row.queries:7} {row.seconds:7.1f} {row.cpu:6.1f} "
        f"{row.cost:5.1f} {after:>5} {row.ended}"
    )
    return f"{text}\n    {row.error}" if row.error else text


def shortcomings(rows: Sequence[Row]) -> list[str]:
    """What the rows of one failure, by rising length, lack: empty if it grows as it may."""
    found: list[str] = []
    for row in rows:
        if row.ended != "minimal" or row.seconds > LIMIT:
            found.append(f"{row.failure}: {row.lines} lines: {row.ended} after {row.seconds:.0f} s")
    if len({row.source for row in rows}) > 1:
        sizes = ", ".join(str(row.after) for row in rows)
        found.append(f"{row.failure}: not the same program at every length ({sizes} tokens)")
    added = [longer.queries - shorter.queries for shorter, longer in itertools.pairwise(rows)]
    for first, second in itertools.pairwise(added):
        if second > max(first, 0) + NOISE:
            found.append(f"{row.failure}: a decade of lines adds {second} queries, the one before it {first}")
    return found


def main(
    only: Annotated[str, typer.Option(help="Failures, with commas between; empty: all.")] = "",
    sizes: Annotated[str, typer.Option(help="Lengths in lines, rising, with commas between.")] = ",".join(
        map(str, SIZES)
    ),
    budget: Annotated[str, typer.Option(help="Budget of one reduction.")] = "5m",
    jobs: Annotated[int, typer.Option(help="Workers of a reduction; 0: as many as it wants.")] = 0,
    seed: Annotated[int, typer.Option(help="What the generated code is drawn from.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the rows there, results too.")] = None,
    python: Annotated[str, typer.Option(help="The interpreter that has the torch under test.")] = sys.executable,
) -> None:
    """Reduce each failure at each length; print a row each, then what grows too fast. Exits 1 if something does."""
    try:
        limit, lengths = seconds(budget), [int(size) for size in sizes.split(",")]
        failures = [name.strip() for name in only.split(",") if name.strip()] or list(growth_scripts.FAILURES)
        scripts = {name: [growth_scripts.make(name, size, seed) for size in lengths] for name in failures}
    except ValueError as error:
        typer.echo(f"bench-growth: {error}", err=True)
        raise typer.Exit(2) from error
    options = ["--jobs", str(jobs)] if jobs else []
    rows: list[Row] = []
    wrong: list[str] = []
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="growth-") as scratch:
        for made in scripts.values():
            mine: list[Row] = []
            for script in made:
                mine.append(measure(script, Path(scratch), options, limit, python))
                print(line(mine[-1]), flush=True)
                if json_file is not None:
                    text = json.dumps([asdict(row) for row in [*rows, *mine]], indent=1)
                    json_file.write_text(text + "\n", encoding="utf-8")
            rows += mine
            wrong += shortcomings(mine)
            print(mine[-1].source.rstrip() + "\n", flush=True)
    print("\n".join(wrong or ["queries grow with the logarithm of the lines; the result is the same at every length"]))
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)

"""``make ablation``: each strategy is left out in turn, and what that costs is the measure of what it earns.

Decision: a reduction in which a strategy was never accepted ends the same without it, so only the others are run
again. Rows go to a file one by one, and rows of the same code that are there already are not made anew: a run of
hours can be stopped and goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import bench, index
from shrinkrepro.core.registry import load_strategies

ORIGINALS = bench.ROOT / "benchmarks" / "originals"
QUERIES = 1.2  # times as many without a strategy show that it earns


@dataclass(frozen=True)
class Row:
    """One reduction without the strategy ``without`` (with all: ""). ``after`` is -1 where nothing came out.

    ``accepted`` names the strategies with an accepted step; ``code`` is the digest of the code that ran.
    """

    code: str
    case: str
    without: str
    after: int
    queries: int
    seconds: float
    ended: str
    accepted: tuple[str, ...]


def digest_of_code() -> str:
    """What rows must share to be compared: the product's and the strategies' source."""
    found = hashlib.sha256()
    for folder in (bench.ROOT / "shrinkrepro", bench.ROOT / "strategies"):
        for path in sorted(folder.rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def originals() -> tuple[index.Case, ...]:
    """The scripts that the corpus was reduced from, as cases."""
    paths = sorted(ORIGINALS.glob("*.py"))
    return tuple(index.Case(path.stem, path, "original", (), "", "", "", "") for path in paths)


def read(path: Path, code: str) -> dict[tuple[str, str], Row]:
    """The rows of ``code`` in a file of one JSON object a line, by case and strategy; of no file none."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [Row(**{**data, "accepted": tuple(data["accepted"])}) for data in map(json.loads, lines)]
    return {(row.case, row.without): row for row in rows if row.code == code}


def reduce_without(case: index.Case, without: str, code: str, options: Sequence[str], budget: float) -> Row:
    """Reduce ``case`` with all strategies but one."""
    with tempfile.TemporaryDirectory(prefix="ablation-") as scratch:
        folder = Path(scratch)
        os.environ["SHRINKREPRO_WITHOUT"] = without
        found = bench.reduce_case(case, folder, options, budget, sys.executable)
        report = folder / f"{case.name}.json"
        steps = json.loads(report.read_text(encoding="utf-8"))["steps"] if report.exists() else []
    return Row(
        code=code,
        case=case.name,
        without=without,
        after=found.get("after", -1),
        queries=found.get("run", 0),
        seconds=round(found["seconds"], 1),
        ended=found.get("ended", found.get("error", "-")),
        accepted=tuple(sorted({name for name, _ in steps} - {"normal form"})),
    )


@dataclass(frozen=True)
class Worth:
    """A strategy over the cases in which it was accepted: tokens and queries of all of them, with it and without."""

    strategy: str
    cases: int
    tokens: tuple[int, int]
    queries: tuple[int, int]
    lost: int  # cases that gave no result without it

    @property
    def earns(self) -> bool:
        """Without it the files are larger, or a fifth more queries are needed."""
        return self.lost > 0 or self.tokens[1] > self.tokens[0] or self.queries[1] >= QUERIES * self.queries[0]


def worth(strategy: str, rows: dict[tuple[str, str], Row]) -> Worth:
    """What ``rows`` say of ``strategy``."""
    pairs = [(rows[row.case, ""], row) for row in rows.values() if row.without == strategy and (row.case, "") in rows]
    both = [(full, row) for full, row in pairs if row.after >= 0 and full.after >= 0]
    return Worth(
        strategy,
        len(pairs),
        (sum(full.after for full, _ in both), sum(row.after for _, row in both)),
        (sum(full.queries for full, _ in both), sum(row.queries for _, row in both)),
        len(pairs) - len(both),
    )


def table(strategies: Iterable[str], rows: dict[tuple[str, str], Row]) -> str:
    """A line for each strategy that was left out, then those that were never accepted."""
    lines = [f"{'strategy':28} {'cases':>5} {'tokens':>13} {'queries':>15}  earns"]
    names = list(strategies)
    for name in names:
        found = worth(name, rows)
        if found.cases:
            tokens, queries = (f"{a} -> {b}" for a, b in (found.tokens, found.queries))
            verdict = ("yes" if found.earns else "no") + (f", {found.lost} without a result" if found.lost else "")
            lines.append(f"{name:28} {found.cases:5} {tokens:>13} {queries:>15}  {verdict}")
    used = {name for row in rows.values() if not row.without for name in row.accepted}
    never = [name for name in names if name not in used]
    full = sum(not row.without for row in rows.values())
    return "\n".join([*lines, f"never accepted in {full} full reductions: {', '.join(never) or 'none'}"])


def main(
    rows_file: Annotated[Path, typer.Option("--rows", help="Where rows are kept, a JSON object a line.")],
    only: Annotated[str, typer.Option(help="Cases or their beginnings, with commas between; empty: all.")] = "",
    strategies: Annotated[str, typer.Option(help="Strategies to leave out, with commas between; empty: all.")] = "",
    budget: Annotated[str, typer.Option(help="Budget of one reduction.")] = "5m",
    jobs: Annotated[int, typer.Option(help="Workers of a reduction; 0: as many as it wants.")] = 0,
    show: Annotated[bool, typer.Option("--show", help="Run nothing; print the table of the rows there are.")] = False,
) -> None:
    """Reduce each case with all strategies, then without each one that was accepted there."""
    code = digest_of_code()
    known = [strategy.name for strategy in load_strategies()]
    try:
        cases = index.select((*index.load(), *originals()), (), [n.strip() for n in only.split(",") if n.strip()])
        limit = bench.seconds(budget)
        wanted = [name.strip() for name in strategies.split(",") if name.strip()] or known
        if unknown := sorted(set(wanted) - set(known)):
            raise ValueError(f"no strategy is called {unknown[0]!r}")
    except ValueError as error:
        typer.echo(f"ablation: {error}", err=True)
        raise typer.Exit(2) from error
    rows = read(rows_file, code)
    options = ["--jobs", str(jobs)] if jobs else []

    def done(case: index.Case, without: str) -> Row:
        if (case.name, without) not in rows:
            row = rows[case.name, without] = reduce_without(case, without, code, options, limit)
            with rows_file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row)) + "\n")
            print(f"{case.name} without {without or 'nothing'}: {row.after} tokens, {row.queries} queries", flush=True)
        return rows[case.name, without]

    try:
        for case in () if show else cases:
            full = done(case, "")
            for name in wanted:
                if name in full.accepted:
                    done(case, name)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here")
    print(table(wanted, rows))


if __name__ == "__main__":
    typer.run(main)

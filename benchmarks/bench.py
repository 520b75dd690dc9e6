"""``python -m benchmarks.bench``: reduce the cases and measure the results against the hand versions.

Decision: each reduction is a command of its own, as a user types it, so that a fault in one costs one
row, and its start is part of its time.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import checks, fresh, index, rows, tokens

ROOT = Path(__file__).parent.parent
GRACE = 120.0  # seconds over its budget before a reduction is killed: start, confirmation, load
CHECK_TIMEOUT = 120.0  # seconds for one run of a reduced program
FRESH_TIMEOUT = 600.0  # seconds for one run of an original


def seconds(text: str) -> float:
    """``90``, ``90s``, ``5m`` or ``1h`` in seconds. Raises ``ValueError`` for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a time such as 90s, 5m or 1h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def reduce_case(case: index.Case, folder: Path, options: Sequence[str], budget: float, python: str) -> dict[str, Any]:
    """Run ``shrinkrepro reduce`` on the case; the fields of a row that it gives, or ``error``."""
    out, report = folder / f"{case.name}.py", folder / f"{case.name}.json"
    argv = [sys.executable, "-m", "shrinkrepro", "reduce", str(case.script), *case.args, "-o", str(out), "--force"]
    argv += ["--fresh"]  # an earlier run's journal would flatter the time
    argv += ["--json", str(report), "--quiet", "--python", python, "--budget", f"{budget:g}s", *options]
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    run = fresh.command(argv, budget + GRACE, {"PYTHONPATH": path, "NO_COLOR": "1"})
    found: dict[str, Any] = {"seconds": run.seconds, "exit_code": run.code}
    if not report.exists() or not out.exists():
        reason = "killed: it did not end" if run.code == fresh.TIMED_OUT else run.output.strip()[-2000:]
        return {**found, "error": reason or "no result was written"}
    data = json.loads(report.read_text(encoding="utf-8"))
    counts = data.get("counts", {})
    source = out.read_text(encoding="utf-8")
    return {
        **found,
        "after": tokens.count(source),
        "run": counts.get("run", 0),
        "cached": counts.get("cached", 0),
        "filtered": counts.get("filtered", 0),
        "confirmed": f"{data.get('confirmed', 0)}/{data.get('confirmations', 0)}",
        "ended": data.get("ended", "?"),
        "signature": data.get("signature", ""),
        "findings": tuple(data.get("findings", ())),
        "faults": tuple(data.get("faults", ())),
        "source": source,
    }


def take_given(case: index.Case, folder: Path, given: Path) -> dict[str, Any]:
    """The fields of a row for a program that was reduced elsewhere: ``NAME.py`` in the folder ``given``."""
    path = given / f"{case.name}.py"
    if not path.exists():
        return {"error": f"{path.name} is not among the given programs"}
    source = path.read_text(encoding="utf-8")
    (folder / path.name).write_text(source, encoding="utf-8")
    return {"after": tokens.count(source), "ended": "given", "source": source}


def measure(
    case: index.Case, folder: Path, options: Sequence[str], budget: float, python: str, timings: int, given: Path | None
) -> rows.Row:
    """One row: ``timings`` fresh runs, the reduction, as many fresh runs again, the checks."""
    before = fresh.time_runs(python, case.script, timings, FRESH_TIMEOUT)
    if given is None:
        found = reduce_case(case, folder, options, budget, python)
    else:
        found = take_given(case, folder, given)
    after = fresh.time_runs(python, case.script, timings if timings > 1 else 0, FRESH_TIMEOUT)
    if "after" in found:
        result = checks.check(case, folder / f"{case.name}.py", python, CHECK_TIMEOUT)
        found.update(checks=result.word, slipped=result.slipped, why=result.why)
    return rows.Row(
        name=case.name,
        kind=case.kind,
        before=sum(tokens.count(p.read_text(encoding="utf-8")) for p in case.sources),
        by_hand=tokens.count(case.by_hand.read_text(encoding="utf-8")),
        fresh_before=tuple(before),
        fresh_after=tuple(after),
        **found,
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def main(
    kinds: Annotated[str, typer.Option(help="Kinds of cases, with commas between; empty: all.")] = "",
    only: Annotated[str, typer.Option(help="Names of cases or their beginnings, with commas between.")] = "",
    budget: Annotated[str, typer.Option(help="Budget of one reduction.")] = "5m",
    jobs: Annotated[int, typer.Option(help="Workers of a reduction; 0: as many as it wants.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write everything there, sources too.")] = None,
    python: Annotated[str, typer.Option(help="The interpreter that has the torch under test.")] = sys.executable,
    fast: Annotated[bool, typer.Option("--fast", help="One fresh run for the cost in the place of ten.")] = False,
    keep: Annotated[Path | None, typer.Option(help="Leave the reduced programs in this folder.")] = None,
    given: Annotated[
        Path | None, typer.Option(help="Reduce nothing: judge the NAME.py of this folder (a peer's, or cases/min).")
    ] = None,
    options: Annotated[str, typer.Option(help="More options for reduce, with blanks between.")] = "",
) -> None:
    """Reduce the cases; print a row each, then the means. Exits 1 if one slipped or gave no result."""
    try:
        chosen = index.select(index.load(), _listed(kinds), _listed(only))
        limit = seconds(budget)
    except ValueError as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(2) from error
    more = options.split() + (["--jobs", str(jobs)] if jobs else [])
    timings = 0 if given else 1 if fast else 5
    done: list[rows.Row] = []
    print(rows.HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        folder = keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for case in chosen:
                done.append(measure(case, folder.resolve(), more, limit, python, timings, given))
                print(rows.line(done[-1]), flush=True)
                if json_file is not None:
                    _write(json_file, done)
        except KeyboardInterrupt:
            print(f"stopped after {len(done)} of {len(chosen)} cases")
    print("\n" + rows.summary(done, limit), flush=True)
    raise typer.Exit(1 if any(r.slipped or r.after is None for r in done) else 0)


def _write(path: Path, done: Sequence[rows.Row]) -> None:
    data = [{**dataclasses.asdict(r), "ratio": r.ratio, "fresh": r.fresh, "cost": r.cost} for r in done]
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)

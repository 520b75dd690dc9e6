"""``make bench-batch``: a fuzzer's harvest of 120 scripts as one batch, against the truth and against one by one.

Decision: what a batch saves is judged in seconds of workers, measured on the same machine in the same hour: those that
the batch took, and those of a sample of its failing scripts, drawn by seed, that are reduced each on its own.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import fresh, index
from benchmarks.batch_scripts import CASES, HOSTS, PLANTED, Harvest, Script, harvest, rand_index
from benchmarks.bench import ROOT, reduce_case, seconds
from benchmarks.index import Case

LEAST_INDEX = 0.95  # adjusted Rand index of the groups and the truth
MOST_COST = 1 / 3  # of reducing each failing script on its own
LIMIT = 4 * 3600.0  # seconds of a whole batch


@dataclass(frozen=True)
class Outcome:
    """What a batch made of the scripts, beside the truth. Times in seconds of workers."""

    groups: int
    bugs: int
    rand_index: float
    mixed: tuple[str, ...]  # groups with two planted bugs
    split: tuple[str, ...]  # bugs in several groups
    lost: tuple[str, ...]  # failing scripts in no group
    strangers: tuple[str, ...]  # scripts without a failure that are in one
    spent: float


def judge(scripts: Sequence[Script], grouped: Mapping[str, str], spent: float) -> Outcome:
    """Compare groups, by the names of scripts, with the truth; a script without a group stands for itself."""
    truth = {script.name: script.bug for script in scripts if script.bug is not None}
    found = {name: grouped.get(name) or f"alone {name}" for name in truth}
    bugs_of: dict[str, set[str]] = {}
    groups_of: dict[str, set[str]] = {}
    for name, bug in truth.items():
        bugs_of.setdefault(found[name], set()).add(bug)
        groups_of.setdefault(bug, set()).add(found[name])
    planted = {group: sorted(bug for bug in bugs if bug.startswith("plant ")) for group, bugs in bugs_of.items()}
    return Outcome(
        groups=len({group for group in grouped.values() if group}),
        bugs=len(groups_of),
        rand_index=rand_index(found, truth),
        mixed=tuple(f"{group}: {', '.join(bugs)}" for group, bugs in sorted(planted.items()) if len(bugs) > 1),
        split=tuple(f"{bug}: {len(groups)}" for bug, groups in sorted(groups_of.items()) if len(groups) > 1),
        lost=tuple(name for name in truth if not grouped.get(name)),
        strangers=tuple(script.name for script in scripts if script.bug is None and grouped.get(script.name)),
        spent=spent,
    )


def shortcomings(outcome: Outcome, alone: float) -> list[str]:
    """What misses the acceptance; ``alone``: seconds of workers for each failing script on its own, 0 if unknown."""
    found = [f"two planted bugs in one group: {text}" for text in outcome.mixed]
    found += [f"{name} has no failure and is in a group" for name in outcome.strangers]
    if outcome.rand_index < LEAST_INDEX:
        found.append(f"adjusted Rand index {outcome.rand_index:.3f}, wanted {LEAST_INDEX}")
    if alone and outcome.spent > MOST_COST * alone:
        found.append(f"cost {outcome.spent / alone:.2f} of reducing each on its own, wanted {MOST_COST:.2f}")
    return found


def run_batch(folder: Path, options: Sequence[str], budget: float) -> dict[str, Any]:
    """``shrinkrepro batch`` on the scripts of ``folder``; its index. Goes on where an earlier run was stopped."""
    out = folder / "out"
    argv = [sys.executable, "-m", "shrinkrepro", "batch", str(folder / "scripts"), "-o", str(out), "--budget",
            f"{budget:g}s", "--preload", str(folder / "plants.py"), *options]  # fmt: skip
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    run = fresh.command(argv, LIMIT, {"PYTHONPATH": path, "NO_COLOR": "1"}, ROOT)
    (folder / "batch.log").write_text(run.output, encoding="utf-8")
    if not (out / "index.json").exists():
        raise RuntimeError(f"the batch wrote no index: {run.last_line}")
    found: dict[str, Any] = json.loads((out / "index.json").read_text(encoding="utf-8"))
    return found


def write(drawn: Harvest, folder: Path) -> None:
    """Put the scripts, the file that plants the bugs and the truth into ``folder``."""
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    (folder / "plants.py").write_text(drawn.preload, encoding="utf-8")
    for script in drawn.scripts:
        (folder / "scripts" / f"{script.name}.py").write_text(script.text, encoding="utf-8")
    (folder / "truth.json").write_text(json.dumps([asdict(s) for s in drawn.scripts], indent=1) + "\n", "utf-8")


def read(folder: Path) -> Harvest:
    """What ``write`` left."""
    rows = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    return Harvest(tuple(Script(**row) for row in rows), (folder / "plants.py").read_text(encoding="utf-8"))


def time_alone(drawn: Harvest, folder: Path, count: int, seed: int, budget: float) -> list[float]:
    """Seconds that each of ``count`` failing scripts takes on its own with one job, drawn by seed."""
    failing = [script for script in drawn.scripts if script.bug is not None]
    chosen = random.Random(f"alone {seed}").sample(failing, min(count, len(failing)))
    results = folder / "alone"
    results.mkdir(exist_ok=True)
    taken = []
    for script in chosen:
        case = Case(script.name, folder / "scripts" / f"{script.name}.py", "drawn", (), "", "", "", "")
        options = ["--jobs", "1", "--preload", str(folder / "plants.py")]
        row = reduce_case(case, results, options, budget, sys.executable)
        taken.append(float(row["seconds"]))
        print(f"alone  {script.name:44} {row['seconds']:6.1f} s  {row.get('ended', row.get('error', ''))}", flush=True)
    return taken


def _report(outcome: Outcome, drawn: Harvest, alone: Sequence[float], failing: int) -> float:
    print(f"{len(drawn.scripts)} scripts, {failing} failing, {outcome.bugs} bugs: {outcome.groups} groups")
    print(f"adjusted Rand index {outcome.rand_index:.3f}")
    for name, values in (("two bugs in one group", outcome.mixed), ("one bug in several groups", outcome.split),
                         ("failing, in no group", outcome.lost)):  # fmt: skip
        if values:
            print(f"{name}: {'; '.join(values)}")
    if not alone:
        return 0.0
    each = statistics.mean(alone)
    error = statistics.stdev(alone) / len(alone) ** 0.5 if len(alone) > 1 else 0.0
    total = each * failing
    print(
        f"the batch: {outcome.spent:.0f} s of workers; each on its own: {total:.0f} s, as {failing} times the mean of "
        f"{len(alone)} drawn by seed, {each:.1f} +- {error:.1f} s; {outcome.spent / total:.2f} of it"
    )
    return total


def main(
    seed: Annotated[int, typer.Option(help="What the scripts are drawn from.")] = 0,
    planted: Annotated[int, typer.Option(help="Planted bugs.")] = PLANTED,
    hosts: Annotated[int, typer.Option(help="Scripts of each planted bug.")] = HOSTS,
    real: Annotated[int, typer.Option(help="Scripts of cases.")] = CASES,
    cases: Annotated[Path, typer.Option(help="The folder of the cases, with its INDEX.tsv.")] = index.CASES,
    budget: Annotated[str, typer.Option(help="Budget of one reduction.")] = "2m",
    jobs: Annotated[int, typer.Option(help="Scripts at a time; 0: as many as it wants.")] = 0,
    alone: Annotated[int, typer.Option(help="Failing scripts that are also reduced each on its own.")] = 10,
    keep: Annotated[Path, typer.Option(help="Scripts and results; with scripts in it, it goes on with them.")] = Path(
        "build/batch"
    ),
    options: Annotated[str, typer.Option(help="More options for batch, with blanks between.")] = "",
) -> None:
    """Draw the scripts, run the batch, compare. Exits 1 if groups or cost miss what is wanted."""
    folder = keep.resolve()
    try:
        limit = seconds(budget)
        if not (folder / "truth.json").exists():
            write(harvest(seed, index.load(cases / "INDEX.tsv"), planted, hosts, real), folder)
    except (OSError, ValueError) as error:
        typer.echo(f"bench-batch: {error}", err=True)
        raise typer.Exit(2) from error
    drawn = read(folder)
    more = options.split() + (["--jobs", str(jobs)] if jobs else [])
    try:
        found = run_batch(folder, more, limit)
    except RuntimeError as error:
        typer.echo(f"bench-batch: {error}", err=True)
        raise typer.Exit(1) from error
    grouped = {Path(row["name"]).stem: str(row["group"]) for row in found["rows"]}
    outcome = judge(drawn.scripts, grouped, sum(found["worker_seconds"].values()))
    taken = time_alone(drawn, folder, alone, seed, limit) if alone else []
    total = _report(outcome, drawn, taken, sum(script.bug is not None for script in drawn.scripts))
    wrong = shortcomings(outcome, total)
    print("\n".join(wrong or ["the groups are the truth's" if outcome.rand_index == 1 else "within what is wanted"]))
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)

"""``make earned FROM=FOLDER``: how often each strategy earned a reduction, from what ``bench --keep FOLDER`` left.

Decision: it counts accepted steps in the reports of whole reductions and nothing else; what a strategy makes possible
for another is for ``make ablation`` to show. The counts are stored, so that the catalogue can be made without a run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

STORED = Path(__file__).parent.parent / "strategies" / "earned.json"


def count(steps: Iterable[Sequence[str]]) -> dict[str, Any]:
    """``steps`` has the strategies' names of each reduction; the counts, in the form that is stored."""
    reductions = [list(names) for names in steps]
    accepted = Counter(name for names in reductions for name in names)
    within = Counter(name for names in reductions for name in set(names))
    found = {name: {"cases": within[name], "steps": accepted[name]} for name in sorted(accepted)}
    return {"cases": len(reductions), "strategies": found}


def of_reports(folder: Path) -> list[list[str]]:
    """The strategies' names of every ``*.json`` in ``folder`` that ``reduce --json`` wrote, in the files' order."""
    found = []
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, Mapping) and "steps" in data:
            found.append([name for name, _ in data["steps"] if name != "normal form"])
    return found


def main(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="What bench --keep left.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the counts go.")] = STORED,
) -> None:
    """Count the accepted steps of every reduction whose report lies in FOLDER."""
    steps = of_reports(folder)
    if not steps:
        typer.echo(f"earned: {folder} has no report of a reduction", err=True)
        raise typer.Exit(2)
    counted = count(steps)
    output.write_text(json.dumps(counted, indent=1) + "\n", encoding="utf-8")
    typer.echo(f"{len(steps)} reductions, {len(counted['strategies'])} strategies earned; written to {output}")


if __name__ == "__main__":
    typer.run(main)

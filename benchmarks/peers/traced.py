"""``python -m benchmarks.peers.traced``: which of the drawn scripts torch's FX minifier could be given.

Decision: it reduces graphs, not programs, so it is a peer only where the function that fails can be traced and its
graph still fails the same under its transform; where that is so for none, it has no rows, and this is why.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import fresh
from benchmarks.peers.rows import FOLDER
from benchmarks.peers.subjects import drawn

TRACE = Path(__file__).parent / "drivers" / "trace.py"
FOUND = FOLDER.parent / "traced.json"
SAME = "the graph fails the same"
SECONDS = 300.0  # for one script


def load(path: Path = FOUND) -> dict[str, str]:
    """What was found of each script, in words."""
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def main(
    python: Annotated[str, typer.Option(help="The interpreter that has the torch under test.")] = sys.executable,
    to: Annotated[Path, typer.Option(help="Write what was found there.")] = FOUND,
) -> None:
    """Try each drawn script whose failure is an exception, with the compiler or without."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for subject in drawn():
            if subject.kind in ("exception", "compile"):
                run = fresh.command([python, str(TRACE), str(subject.script(Path(folder)))], SECONDS)
                found[subject.name] = run.last_line if run.clean else f"the run ended with {run.code}"
                print(f"{subject.name:40} {found[subject.name]}", flush=True)
    to.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)

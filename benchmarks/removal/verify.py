"""Do the originals and the hand-minimised versions run clean with their bug taken out?

``python -m benchmarks.removal.verify``: a row a case. What fails here is a fault of the runner or of
the case, and makes the benchmark's third check worthless for that case.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import fresh, index

RUNNER = Path(__file__).with_name("run.py")


def without_bug(python: str, kind: str, program: Path, timeout: float) -> fresh.Run:
    """A fresh run of ``program`` with the bug taken out as ``kind`` says."""
    argv = [python, str(RUNNER), kind, str(program)]
    return fresh.command(argv, timeout, {"PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1"})


def main(
    kinds: Annotated[str, typer.Option(help="Kinds of cases, with commas between.")] = "",
    only: Annotated[str, typer.Option(help="Names or their beginnings, with commas between.")] = "",
    python: Annotated[str, typer.Option(help="The interpreter that has torch.")] = sys.executable,
    timeout: Annotated[float, typer.Option(help="Seconds for one run.")] = 300.0,
    which: Annotated[str, typer.Option(help="original, min or both.")] = "both",
) -> None:
    """Run every case with its bug taken out."""
    bad = 0
    for case in index.select(index.load(), [k for k in kinds.split(",") if k], [n for n in only.split(",") if n]):
        for label, path in (("original", case.script), ("min", case.by_hand)):
            if which not in ("both", label):
                continue
            run = without_bug(python, case.removed, path, timeout)
            note = "clean" if run.clean else f"exit {run.code}: {run.last_line[:160]}"
            if case.removed == "none":
                note = f"no removal is known (as it is: {note})"
            else:
                bad += not run.clean
            print(f"{case.name:42} {label:9} {case.removed:22} {run.seconds:6.1f} s  {note}", flush=True)
    print(f"{bad} do not run clean" if bad else "all run clean")
    raise typer.Exit(1 if bad else 0)


if __name__ == "__main__":
    typer.run(main)

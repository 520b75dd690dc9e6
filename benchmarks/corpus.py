"""The corpus is made of originals by ``reduce --case``; this reduces some of them again and compares.

``python -m benchmarks.corpus CASE...`` writes nothing into the corpus: the new cases go to a folder of their own, and
the program of each must be that of the old one, byte for byte, and its failure too.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

from shrinkrepro.corpus.block import program
from shrinkrepro.corpus.case import read

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "corpus"
REBUILT = ("vmap_item", "inplace_into_unbatched", "one_hot_vmap", "unique_vmap", "numpy_in_vmap")


def sources() -> dict[str, dict[str, str]]:
    """What each case was made of: original, arguments, title and origin, by the case's name."""
    with open(CORPUS / "SOURCES.tsv", encoding="utf-8", newline="") as file:
        return {row["case"]: row for row in csv.DictReader(file, delimiter="\t")}


def command(row: dict[str, str], folder: Path) -> list[str]:
    """The command that makes a case in ``folder``."""
    arguments = row["arguments"].split("|") if row["arguments"] else []
    named = ["--case", str(folder / f"{row['case']}.py"), "--title", row["title"], "--origin", row["origin"]]
    return [sys.executable, "-m", "shrinkrepro", "reduce", row["original"], *named, "--no-color", "--fresh", *arguments]


def made(path: Path) -> tuple[object, ...]:
    """What a reduction makes of a case: all but the queries it took, what it ran on, and what is expected since."""
    case = read(path)
    sizes = {name: value for name, value in case.reduction.items() if name != "queries"}
    return program(case.text), case.signature, case.faces, case.failure, case.control, case.title, case.origin, sizes


def main(names: list[str]) -> int:
    """Reduce the named cases again; 0 when all are the same."""
    known = sources()
    different = []
    with tempfile.TemporaryDirectory(prefix="shrinkrepro-corpus-") as folder:
        for name in names or REBUILT:
            done = subprocess.run(
                command(known[name], Path(folder)), cwd=ROOT, capture_output=True, text=True, check=False
            )
            new = Path(folder) / f"{name}.py"
            same = new.is_file() and made(new) == made(CORPUS / f"{name}.py")
            print(f"{'same' if same else 'different':<10} {name}", flush=True)
            if not same:
                different.append(name)
                print(new.read_text(encoding="utf-8") if new.is_file() else done.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

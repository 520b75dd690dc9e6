"""The corpus is made of originals by ``reduce --case``; this reduces some of them again and compares.

``python -m benchmarks.corpus CASE...`` writes nothing into the corpus: the new cases go to a folder of their own, and
the program and the signature of each must be those of the old one, byte for byte.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "corpus"
REBUILT = ("vmap_item", "inplace_into_unbatched", "sparse_csr_grad", "gru_batching_rule", "one_hot_vmap")
_COSTS = ("# queries = ", "# torch = ", "# python = ", "# platform = ")  # what may differ from machine to machine


def sources() -> dict[str, dict[str, str]]:
    """What each case was made of: original, arguments, title and origin, by the case's name."""
    with open(CORPUS / "SOURCES.tsv", encoding="utf-8", newline="") as file:
        return {row["case"]: row for row in csv.DictReader(file, delimiter="\t")}


def command(row: dict[str, str], folder: Path) -> list[str]:
    """The command that makes a case in ``folder``."""
    arguments = row["arguments"].split("|") if row["arguments"] else []
    named = ["--case", str(folder / f"{row['case']}.py"), "--title", row["title"], "--origin", row["origin"]]
    return [sys.executable, "-m", "shrinkrepro", "reduce", row["original"], *named, "--no-color", *arguments]


def lines(path: Path) -> list[str]:
    """The lines of a case without what a machine's speed and versions decide."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith(_COSTS)]


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
            same = new.is_file() and lines(new) == lines(CORPUS / f"{name}.py")
            print(f"{'same' if same else 'different':<10} {name}", flush=True)
            if not same:
                different.append(name)
                print(new.read_text(encoding="utf-8") if new.is_file() else done.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""The check on a machine with a GPU: six cases with cuda in them, reduced and confirmed, within four minutes.

Decision: it is one script that prints a row a case and ends with 1 if any row is bad, so that a machine that
is lent for minutes is used for seconds. Without a GPU it says so and ends with 0; ``--rehearse`` runs the same
on the CPU, where all but the case that needs two devices fail alike.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import shrinkrepro
from shrinkrepro import ShrinkReproError

CASES = Path(__file__).resolve().parent / "cuda"
NEEDS_CUDA = ("buffer_left_behind",)
SECONDS = 240.0  # of all cases together
_DEVICE = re.compile(r'"cuda(:0)?"(, 0)?')
_PROBE = "import torch; print(torch.cuda.get_device_name(0) if torch.cuda.is_available() else '')"


def main() -> int:
    """Reduce every case, print a row for each, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rehearse", action="store_true", help="on the CPU, to try this script itself")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the torch")
    options = parser.parse_args()
    probe = subprocess.run([options.python, "-c", _PROBE], capture_output=True, text=True, check=False)
    name = probe.stdout.strip()
    if not name and not options.rehearse:
        print("check-cuda: there is no CUDA device here, so nothing was checked")
        return 0
    print(f"check-cuda on {'the CPU (a rehearsal)' if options.rehearse else name}", flush=True)
    scripts = [path for path in sorted(CASES.glob("*.py")) if not (options.rehearse and path.stem in NEEDS_CUDA)]
    start = time.monotonic()
    bad = 0
    for number, path in enumerate(scripts):
        left = SECONDS - (time.monotonic() - start)
        good, row = _case(path, left / (len(scripts) - number), options.python, options.rehearse)
        bad += not good
        print(row, flush=True)
    seconds = time.monotonic() - start
    print(f"check-cuda: {len(scripts) - bad} of {len(scripts)} cases reduced and confirmed in {seconds:.0f} s")
    return 1 if bad or seconds > SECONDS else 0


def _case(path: Path, budget: float, python: str, rehearse: bool) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / path.name
        text = path.read_text(encoding="utf-8")
        script.write_text(_DEVICE.sub('"cpu"', text) if rehearse else text, encoding="utf-8")
        try:
            # the run's own start and its confirmations take about a third of so short a budget
            result = shrinkrepro.reduce(script, python=python, budget=max(5.0, budget * 2 / 3))
        except ShrinkReproError as error:
            return False, f"{path.stem:<22} {error.message}"
    good = result.confirmed == result.confirmations and result.tokens_after < result.tokens_before
    rate = result.counts.run / result.seconds
    return good, (
        f"{path.stem:<22} {result.tokens_before:4d} -> {result.tokens_after:3d} tokens, "
        f"{result.confirmed} of {result.confirmations} confirmed, {result.counts.run} queries, {rate:.0f}/s, "
        f"{result.seconds:.0f} s, {result.ended}: {result.signature[:80]}"
    )


if __name__ == "__main__":
    sys.exit(main())

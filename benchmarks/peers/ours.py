"""``python -m benchmarks.peers.ours``: one reduction by shrinkrepro, with the time of each step.

Decision: it is a process of its own, started like a peer, so its start, the original's runs and the confirmation of
the result are part of its time.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks import tokens
from benchmarks.peers.clock import processor_seconds
from benchmarks.peers.subjects import select
from shrinkrepro.api import Silent
from shrinkrepro.errors import ShrinkReproError
from shrinkrepro.session.request import Counts
from shrinkrepro.session.run import run


class Steps(Silent):
    """Writes a point for each smaller program when it is accepted, as ``rows`` has them: a killed run has them too."""

    def __init__(self, start: float, path: Path) -> None:
        self._start, self._path = start, path
        self._queries = 0
        self._tokens: int | None = None
        self.curve: list[tuple[float, float, int, int]] = []

    def point(self, queries: int, size: int) -> tuple[float, float, int, int]:
        """Where it stands: processor seconds, wall seconds, queries, tokens."""
        return round(processor_seconds(), 2), round(time.monotonic() - self._start, 2), queries, size

    def query(self, counts: Counts, strategy: str) -> None:
        """Note how many queries were run."""
        self._queries = counts.run

    def step(self, strategy: str, source: str, tokens_: int) -> None:
        """Note a step."""
        size = tokens.count(source)
        if self._tokens is None or size < self._tokens:
            self._tokens = size
            self.curve.append(self.point(self._queries, size))
            self._path.write_text(json.dumps({"curve": self.curve, "source": source}), encoding="utf-8")


def main(name: str, folder: Path, python: str, budget: float, start: float) -> int:
    """Reduce the subject ``name`` and write ``ours.json`` to ``folder``; ``start`` is when the clock was started."""
    [subject] = [found for found in select([name]) if found.name == name]
    path = folder / "ours.json"
    steps = Steps(start, path)
    try:
        found = run(subject.request(folder, python, budget), steps)
    except ShrinkReproError as error:
        path.write_text(json.dumps({"error": str(error)}), encoding="utf-8")
        return error.exit_code
    size = tokens.count(found.source)
    last = steps.point(found.counts.run, size)
    curve = [*steps.curve, last] if not steps.curve or size < steps.curve[-1][-1] else steps.curve
    result = {"curve": curve, "source": found.source, "queries": found.counts.run, "ended": found.ended}
    path.write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], float(sys.argv[4]), float(sys.argv[5])))

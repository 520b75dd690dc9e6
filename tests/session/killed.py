"""Runs one reduction that kills itself: ``killed.py SCRIPT OUT N`` with SIGKILL at the N-th execution (0: never).

An odd N dies after the execution and before the journal has it, an even one right after.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from shrinkrepro import api
from shrinkrepro.session.journal import Journal
from shrinkrepro.workers.memory import Ticket


class Notes(api.Silent):
    """Prints the notes alone."""

    def note(self, text: str) -> None:
        """Print it."""
        print("note:", text, flush=True)


def main(script: str, out: str, last: int) -> None:
    """Reduce; print what was run now and what an earlier run had run."""
    keep, seen = Journal.keep, 0

    def counted(journal: Journal, ticket: Ticket, answer: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == last and last % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        keep(journal, ticket, answer)
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(Journal, "keep", counted)  # noqa: B010  (mypy)
    reduction = api.reduce(script, out=out, jobs=1, budget=300, anyway=True, progress=Notes())
    counts = reduction.counts
    print("kept", seen, "run", counts.run, "resumed", counts.resumed, "cached", counts.cached, "ended", reduction.ended)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

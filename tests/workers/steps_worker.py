"""A worker for the tests of executors: it counts, slowly, and tells of every step."""

from __future__ import annotations

import time
from collections.abc import Callable

from shrinkrepro.workers.executor import ACCEPTED, DONE, STARTED, Event, Work

WORKER = f"{__name__}:Steps"


class Steps:
    """Its script is a number; it counts from there (or from where a try before it got) to ``options["steps"]``."""

    def run(self, work: Work, tell: Callable[[Event], None]) -> None:
        """Count; each number is an accepted text."""
        tell(Event(work.name, STARTED))
        first = int(work.start or work.sources[work.script])
        for number in range(first + 1, int(work.options["steps"]) + 1):
            time.sleep(work.options.get("pause", 0.0))
            tell(Event(work.name, ACCEPTED, {"text": str(number), "tokens": 1, "strategy": "count"}))
        tell(Event(work.name, DONE, {"first": first}))

    def close(self) -> None:
        """It has nothing to let go of."""

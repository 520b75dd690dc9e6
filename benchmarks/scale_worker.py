"""A worker that only talks: what an event costs the one who hears it."""

from __future__ import annotations

from collections.abc import Callable

from shrinkrepro.workers.executor import ACCEPTED, DONE, Event, Work

TALKER = f"{__name__}:Talker"


class Talker:
    """Tells ``options["events"]`` times of its script as a smaller program."""

    def run(self, work: Work, tell: Callable[[Event], None]) -> None:
        """Talk."""
        text = work.sources[work.script]
        for _ in range(int(work.options["events"])):
            tell(Event(work.name, ACCEPTED, {"text": text, "tokens": 1, "strategy": "talk"}))
        tell(Event(work.name, DONE, {}))

    def close(self) -> None:
        """It has nothing to let go of."""

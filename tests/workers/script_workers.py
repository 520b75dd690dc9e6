"""A worker for tests of executors: what it does with a script stands in the script."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from shrinkrepro.workers.executor import ACCEPTED, DONE, STARTED, Event, Work

PATH = f"{__name__}:Scripted"


class Scripted:
    """``say``: ends with the script's last line. ``die N``: tells a smaller program and is killed, unless its start is
    N lines shorter already. ``wait FILE``: ends when the file is there."""

    def run(self, work: Work, tell: Callable[[Event], None]) -> None:
        """Do what the script says."""
        tell(Event(work.name, STARTED, {"worker": str(os.getpid())}))
        text = work.start or work.sources[work.script]
        order, _, rest = text.splitlines()[0].partition(" ")
        if order == "die":
            if int(rest) > 0:
                tell(Event(work.name, ACCEPTED, {"text": f"die {int(rest) - 1}\n", "tokens": 1, "strategy": "x"}))
                os.kill(os.getpid(), signal.SIGKILL)
        elif order == "wait":
            while not Path(rest).exists():
                time.sleep(0.02)
        tell(Event(work.name, DONE, {"said": text.splitlines()[-1]}))

    def close(self) -> None:
        """Leave a mark where one is asked for."""
        mark = os.environ.get("SCRIPTED_MARK")
        if mark:
            Path(mark).write_text("closed")

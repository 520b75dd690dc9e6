"""A share of a corpus, replayed by a worker: texts come in, rows go out.

Decision: a worker replays cases as ``shrinkrepro replay`` does, by the same code, so that a row does not tell where it
was made; only the paths, which are another machine's, are put in by the one who asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shrinkrepro.corpus.case import read
from shrinkrepro.tasks.replayer import Replayer
from shrinkrepro.workers import scratch as scratches
from shrinkrepro.workers.executor import Work

REPLAY = "replay"  # the kind of work: its sources are cases, by a name of each


def replay_share(work: Work, preload: Path | None) -> Mapping[str, Any]:
    """Replay the cases of ``work`` on its ``options["devices"]``; ``rows`` are those of each device, one after another.

    Raises:
        ShrinkReproError: the target cannot run cases.
    """
    options, folder = work.options, scratches.make_scratch()
    try:
        cases = []
        for name, text in work.sources.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            cases.append(read(path))
        with Replayer(
            cases,
            python=options.get("python"),
            jobs=int(options.get("jobs", 1)),
            timeout=options.get("timeout"),
            preload=preload,
            isolation=options.get("isolation"),
        ) as replayer:
            rows = [row for device in options["devices"] for row in replayer.replay(cases, device)]
    finally:
        scratches.remove(folder)
    return {"rows": [dataclasses.asdict(row) for row in rows]}

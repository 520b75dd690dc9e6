"""Golden reductions: exact results and bounds on queries, on real workers.

Each folder names a script in ``golden.json`` and holds the text that it must be reduced to. The files are written with
two workers and compared with one, so that they also say that the number of workers does not change a result.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shrinkrepro

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("*/golden.json"))
MARGIN = 1.2  # a reduction that needs a fifth more queries than when it was recorded is a regression

pytestmark = [pytest.mark.torch, pytest.mark.slow]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_reduces_to_the_golden_text(folder: Path, request: pytest.FixtureRequest) -> None:
    facts = json.loads((folder / "golden.json").read_text())
    update = request.config.getoption("--update-golden", default=False)  # not there when all of tests/ is run
    reduction = shrinkrepro.reduce(ROOT / facts["script"], jobs=2 if update else 1, budget=600.0)
    if update:
        facts.update(tokens=reduction.tokens_after, queries=reduction.counts.run)
        (folder / "golden.json").write_text(json.dumps(facts, indent=2) + "\n")
        (folder / "reduced.py").write_text(reduction.source)
        return
    assert reduction.source == (folder / "reduced.py").read_text()
    assert reduction.ended == "minimal"
    assert reduction.confirmed == reduction.confirmations
    assert reduction.counts.run <= MARGIN * facts["queries"]
    assert reduction.faults == ()


def test_there_are_goldens() -> None:
    assert len(FOLDERS) >= 5

"""The touchstone for wrong numbers: with the oracle and control of an original, its hand version is accepted and every
stranger refused. The compiled cases are left to the benchmark, for a run of theirs takes seconds."""

from __future__ import annotations

import csv
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkrepro.api import Silent
from shrinkrepro.core.program import Program
from shrinkrepro.oracles.mismatch import Difference
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import RUN, Job
from shrinkrepro.session.judge import SessionJudge
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

pytestmark = [pytest.mark.torch, pytest.mark.slow]

CASES = Path(__file__).parents[2] / "benchmarks" / "cases"
SLOW = ("ad18", "vmap18", "vmap23")  # compiled
X = "import torch\nx = torch.ones(2)\n"
STRANGERS = {
    "nothing is compared": "assert 0",
    "two constants": X + "torch.testing.assert_close(x, torch.zeros(2))",
    "two numbers": X + "assert torch.allclose(x, 2 * x)",
    "NaN against NaN": X + "torch.testing.assert_close(torch.vmap(torch.log)(-x), (-x).log())",
    "two functions": X + "torch.testing.assert_close(torch.vmap(torch.sin)(x), torch.cos(x))",
    "another shape": X + "torch.testing.assert_close(torch.vmap(torch.sin)(x), torch.sin(x)[:1])",
    "rounding": X + "torch.testing.assert_close(torch.vmap(torch.sin)(x), x.sin() + 1e-4)",
}


def rows() -> list[dict[str, str]]:
    with open(CASES / "INDEX.tsv", encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file, delimiter="\t") if row["kind"].startswith("mismatch")]
    return [row for row in found if not row["name"].startswith(SLOW)]


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("script")
    (folder / "script.py").write_text("")
    with Pool(Target(python=sys.executable, script_path=folder / "script.py", cwd=folder)) as pool:
        yield pool


@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row["name"]))
def test_the_hand_version_is_accepted_and_strangers_are_refused(pool: Pool, row: dict[str, str]) -> None:
    text = (CASES / row["path"]).read_text(encoding="utf-8")
    if row["args"]:
        _, got, want = shlex.split(row["args"])
        text += f"\nimport torch\ntorch.testing.assert_close(torch.as_tensor({got}), torch.as_tensor({want}))\n"
    source = Program.parse(text).source
    [run] = pool.run([Job(source, RUN, 120, alone=True)])
    oracle = Oracle.of(run)
    assert oracle is not None
    judge = SessionJudge(pool, replace(oracle, difference=Difference.of(run)), Silent())
    judge.calibrate(run.seconds)
    judge.settle_controls(source)
    assert judge.confirm(source, "original")
    hand = Program.parse((CASES / "min" / f"{row['name']}.py").read_text(encoding="utf-8")).source
    assert judge.confirm(hand, "hand")
    taken = [what for what, stranger in STRANGERS.items() if judge.confirm(Program.parse(stranger).source, what)]
    assert taken == []

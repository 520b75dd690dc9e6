"""What a candidate costs: a second run where its time was up as it counted, and no run that another answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkrepro.api import Silent
from shrinkrepro.oracles.controls import Control
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import PRIMAL, Job
from shrinkrepro.session.judge import SLOW, SessionJudge
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

pytestmark = pytest.mark.torch

FAILING = "import torch\ntorch.ones(2) @ torch.ones(3)\n"
TRANSFORMED = "import torch\ntorch.vmap(lambda x: x.item())(torch.ones(1))\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which programs may really leave a file for each of their runs."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory, runs: Path) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("slow")
    script = folder / "script.py"
    script.write_text(FAILING)
    with Pool(Target(python=sys.executable, script_path=script, cwd=folder, allow_write=(runs,)), jobs=1) as opened:
        yield opened


def slow(folder: Path, times: int) -> str:
    """A program that fails as ``FAILING`` does, but hangs in its first ``times`` runs."""
    return (
        f"import os, time\nnumber = len(os.listdir({str(folder)!r}))\nopen({str(folder)!r} + f'/{{number}}', 'w')\n"
        f"if number < {times}:\n    time.sleep(1000)\n{FAILING}"
    )


def judge_of(pool: Pool, failing: str = FAILING) -> SessionJudge:
    [run] = pool.run([Job(failing, timeout=60)])
    oracle = Oracle.of(run)
    assert oracle is not None
    judge = SessionJudge(pool, oracle, Silent(), timeout=1.0)
    judge.controls.chosen = ()
    return judge


@pytest.mark.parametrize(
    ("times", "interesting", "queries"),
    [
        pytest.param(0, True, 1, id="quick: one run"),
        pytest.param(1, True, 2, id="slow once: the second run counts"),
        pytest.param(2, False, 2, id="slow twice: unresolved"),
    ],
)
def test_a_time_out_that_matters_is_run_once_more(
    pool: Pool, runs: Path, times: int, interesting: bool, queries: int
) -> None:
    folder = runs / str(times)
    folder.mkdir()
    judge = judge_of(pool)
    assert judge.confirm(slow(folder, times), "none") is interesting
    assert judge.counts.run == queries == len(list(folder.iterdir()))


def test_what_a_batch_gave_up_is_run_once_more_in_the_last_sweep_alone(pool: Pool, runs: Path) -> None:
    judge = judge_of(pool)
    sources = []
    for times in (1, 2):
        (runs / f"batch{times}").mkdir()
        sources.append(slow(runs / f"batch{times}", times))
    assert judge.judge([*sources, FAILING], "none", alone=False) == [False, False, True]
    assert judge.judge(sources, "none", alone=False) == [False, False]
    assert judge.counts.run == 3
    assert judge.judge(sources, "none", alone=True) == [True, False]
    assert judge.judge(sources, "none", alone=True) == [True, False]
    assert judge.counts.run == 5


def test_where_runs_are_slow_each_candidate_runs_once(pool: Pool, runs: Path) -> None:
    """Its control first; one that passes it has a process of its own, and need not run again to be adopted."""
    folder = runs / "once"
    folder.mkdir()
    failing = TRANSFORMED
    judge = judge_of(pool, failing)
    judge.controls.chosen = (Control(PRIMAL),)
    judge.calibrate(100 * SLOW)
    judge.controls.seconds = SLOW
    count = f"import os\nnumber = len(os.listdir({str(folder)!r}))\nopen({str(folder)!r} + f'/{{number}}', 'w')\n"
    sources = [f"{count}{failing}print({number})\n" for number in range(3)]
    assert judge.judge(sources, "none", alone=False) == [True, True, True]
    assert judge.confirm(sources[1], "none")
    assert judge.counts.run == len(list(folder.iterdir())) == 2 * len(sources)


def test_a_strategy_whose_program_failed_its_control_is_asked_for_it_at_once(pool: Pool) -> None:
    judge = judge_of(pool, TRANSFORMED)
    judge.controls.chosen = (Control(PRIMAL),)
    ill = [f"{TRANSFORMED}raise ValueError({number})\n" for number in range(4)]
    assert judge.judge(ill[:1], "one", alone=False) == [True]
    assert not judge.confirm(ill[0], "one")
    assert judge.judge([ill[1], TRANSFORMED], "one", alone=False) == [False, True]
    assert judge.judge(ill[2:3], "another", alone=False) == [True]
    assert judge.confirm(TRANSFORMED, "one")
    assert judge.judge(ill[3:], "one", alone=False) == [True]

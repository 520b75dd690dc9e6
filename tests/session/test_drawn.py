"""A number that was drawn once is nothing to compare with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkrepro.api import Silent
from shrinkrepro.core.program import Program
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import RUN, Job
from shrinkrepro.session.judge import SessionJudge
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

pytestmark = pytest.mark.torch

BUG = """\
import torch
L = {draw} + 2 * torch.eye(2)
slope = torch.func.jvp(torch.cholesky_inverse, (L,), (L,))[1]
torch.testing.assert_close(slope, {want})
"""
DRAW, CONSTANT = "torch.rand(2, 2)", "torch.ones(2, 2)"
FORMULA = "torch.autograd.functional.jvp(torch.cholesky_inverse, L, L)[1]"


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    (tmp_path / "script.py").write_text("")
    with Pool(Target(python=sys.executable, script_path=tmp_path / "script.py", cwd=tmp_path), jobs=1) as pool:
        yield pool


def test_a_number_for_what_is_drawn_is_refused_and_a_formula_is_not(pool: Pool) -> None:
    source = Program.parse(BUG.format(draw=DRAW, want=FORMULA)).source
    [run] = pool.run([Job(source, RUN, 60, alone=True)])
    oracle = Oracle.of(run)
    assert oracle is not None
    judge = SessionJudge(pool, oracle, Silent())
    judge.calibrate(run.seconds)
    judge.settle_controls(source)
    assert judge.confirm(source, "formula")
    for draw, holds in ((DRAW, False), (CONSTANT, True)):
        printing = BUG.format(draw=draw, want=FORMULA) + "\n"
        printing = printing.replace("torch.testing.assert_close(slope, ", "print((").replace("[1])", "[1]).tolist())")
        [said] = pool.run([Job(printing, RUN, 60, alone=True)])
        number = f"torch.tensor({said.stdout.strip()})"
        assert judge.confirm(Program.parse(BUG.format(draw=draw, want=number)).source, "number") is holds

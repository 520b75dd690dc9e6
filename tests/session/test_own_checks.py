"""Scripts that find fault with an exception or an exit of their own, where others assert."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from shrinkrepro.api import Silent
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import CONTROL_REFERENCE, CONTROL_STRICT, Job
from shrinkrepro.session.judge import SessionJudge
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

pytestmark = pytest.mark.torch

CHECK = """\
import torch
from torch.func import jvp
x = torch.eye(2) + torch.ones(2, 2).tril()
_, got = jvp(torch.cholesky_inverse, (x,), (x,))
want = -2 * torch.cholesky_inverse(x)
if (got - want).abs().max() > 0.01:
    """


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("own")
    script = folder / "script.py"
    script.write_text(CHECK)
    with Pool(Target(python=sys.executable, script_path=script, cwd=folder), jobs=1) as opened:
        yield opened


@pytest.mark.parametrize("ending", ["raise RuntimeError('it is off')", "raise SystemExit('it is off')"])
def test_the_control_is_a_reference_and_the_ending_alone_is_a_slip(ending: str, pool: Pool) -> None:
    source = CHECK + ending + "\n"
    [run] = pool.run([Job(source, timeout=60)])
    oracle = Oracle.of(run)
    assert oracle is not None
    judge = SessionJudge(pool, oracle, Silent())
    judge.settle_controls(source)
    assert next(control.mode for control in judge.controls.chosen or ()) in (CONTROL_STRICT, CONTROL_REFERENCE)
    assert judge.confirm(source, "none")
    assert not judge.confirm(f"import torch\n{ending}\n", "delete")
    assert not judge.confirm(source.replace("> 0.01", "> -1"), "number")

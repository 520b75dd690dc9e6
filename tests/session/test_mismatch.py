"""Scripts whose own check fails, from end to end: the result must be wrong for the transform's sake alone."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import shrinkrepro
from shrinkrepro.protocol import CONTROL_REFERENCE, OK, Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

pytestmark = [pytest.mark.torch, pytest.mark.slow]

CASE = Path(__file__).parents[2] / "benchmarks" / "cases" / "vmap17_autocast_experts.py"

# Fails with loops and plain autograd as well, so it has no control: a sine is not its argument.
OWN_FAULT = """\
import torch

torch.manual_seed(0)
scale = torch.tensor(2.0)
x = torch.randn(4, 3)

def shrink(v):
    print("shrinking", v.shape)
    return torch.sin(v) / scale

out = torch.vmap(shrink)(x)
expected = x / scale
assert torch.allclose(out, expected), (out - expected).abs().max()
"""


def test_the_result_passes_its_control(tmp_path: Path) -> None:
    reduction = shrinkrepro.reduce(CASE, budget=240.0)
    assert reduction.confirmed == reduction.confirmations
    assert reduction.tokens_after < reduction.tokens_before / 3
    assert "vmap" in reduction.source
    script = tmp_path / "script.py"
    script.write_text(reduction.source)
    with Pool(Target(python=sys.executable, script_path=script, cwd=tmp_path), jobs=1) as pool:
        [healthy] = pool.run([Job(reduction.source, CONTROL_REFERENCE, 60, alone=True)])
    assert healthy.status == OK


def test_without_a_control_the_check_still_compares_what_a_transform_made(tmp_path: Path) -> None:
    script = tmp_path / "own_fault.py"
    script.write_text(OWN_FAULT)
    reduction = shrinkrepro.reduce(script, budget=120.0)
    assert any("look at what it compares with first" in finding for finding in reduction.findings)
    assert "vmap" in reduction.source
    assert any(isinstance(node, ast.Compare) or getattr(node, "attr", "") == "allclose"
               for node in ast.walk(ast.parse(reduction.source)))  # fmt: skip


CAUGHT = """\
import sys
import torch
from torch.func import jvp

def precision(chol):
    return torch.cholesky_inverse(chol)

L = torch.eye(2) + torch.ones(2, 2).tril()
try:
    torch.testing.assert_close(jvp(precision, (L,), (L,))[1], -2 * precision(L))
except AssertionError:
    print("it failed")
    sys.exit(3)
"""


def test_a_script_that_catches_its_failure_and_exits_does_not_end_as_that_exit() -> None:
    reduction = shrinkrepro.reduce(CAUGHT, budget=240.0)
    assert "jvp" in reduction.source
    assert reduction.confirmed == reduction.confirmations

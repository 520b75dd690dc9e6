"""Two torches: a bug that one of them has and the other has not, reduced on either side (``make test-versions``)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shrinkrepro
from shrinkrepro.protocol import CONTROL_REFERENCE, OK, Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

OLD = os.environ.get("SHRINKREPRO_OLD", "")  # an interpreter with torch 2.0.1

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.versions,
    pytest.mark.skipif(not OLD, reason="make test-versions installs the other torch"),
]

# The Function returns its input as it is and saves it as an output. Torch 2.0.1 loses what the gradient depends on.
CUBE = """\
import torch
from torch.func import functional_call, grad


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3, x

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        ctx.save_for_backward(outputs[1])

    @staticmethod
    def backward(ctx, g, _):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class Energy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        cubed, _ = Cube.apply(x)
        return (self.scale * cubed).sum()


model = Energy()
parameters = {name: p.detach() for name, p in model.named_parameters()}
x = torch.tensor(1.0)


def energy(x):
    return functional_call(model, parameters, (x,))


stiffness = grad(grad(energy))(x)
"""
PLAIN = """
leaf = x.clone().requires_grad_()
(force,) = torch.autograd.grad(energy(leaf), leaf, create_graph=True)
(expected,) = torch.autograd.grad(force, leaf)
print(stiffness, expected)
torch.testing.assert_close(stiffness, expected)
"""

# The second derivative of atan2 at the origin is NaN in torch 2.0.1, and 0 in later ones.
ANGLE = """\
import torch
from torch.func import hessian, vmap

torch.manual_seed(0)
points = torch.cat([torch.zeros(1, 2), torch.randn(4, 2)])


def angle(p):
    return torch.atan2(p[0], p[1])


def curvature(points):
    return vmap(hessian(angle))(points)


result = curvature(points)
for k, matrix in enumerate(result):
    print(k, matrix.tolist())
assert not torch.isnan(result).any(), "a curvature is no number"
"""


def ends_well(python: str, script: Path) -> bool:
    return subprocess.run([python, script], capture_output=True, check=False).returncode == 0


def reduced(tmp_path: Path, text: str, python: str, *control: str) -> tuple[shrinkrepro.Reduction, Path]:
    script = tmp_path / "script.py"
    script.write_text(text)
    reduction = shrinkrepro.reduce(script, python=python, control=control, budget=300.0, jobs=1)
    assert reduction.confirmed == reduction.confirmations
    assert reduction.tokens_after < reduction.tokens_before / 1.5
    result = tmp_path / "result.py"
    result.write_text(reduction.source)
    assert not ends_well(python, result)
    return reduction, result


def test_a_wrong_number_of_the_old_torch(tmp_path: Path) -> None:
    reduction, result = reduced(tmp_path, CUBE + PLAIN, OLD)
    assert "Cube" in reduction.source or "Function" in reduction.source
    assert "grad" in reduction.source
    with Pool(Target(python=OLD, script_path=result, cwd=tmp_path), jobs=1) as pool:
        [healthy] = pool.run([Job(reduction.source, CONTROL_REFERENCE, 60, alone=True)])
        assert pool.info.torch.startswith("2.0.1")
    assert healthy.status == OK


def test_an_error_of_the_new_torch_that_the_old_one_has_not(tmp_path: Path) -> None:
    reduction, result = reduced(tmp_path, CUBE, sys.executable, f"python={OLD}")
    assert "returned as-is as output is being saved for backward" in reduction.signature
    assert ends_well(OLD, result)
    assert any("passes with torch 2.0.1" in finding for finding in reduction.findings)


def test_a_wrong_number_of_the_old_torch_that_the_new_one_has_not(tmp_path: Path) -> None:
    reduction, result = reduced(tmp_path, ANGLE, OLD, f"python={sys.executable}")
    assert "atan2" in reduction.source
    assert ends_well(sys.executable, result)
    assert any("fails with torch 2.0.1" in finding for finding in reduction.findings)


def test_a_control_that_the_original_fails_is_told(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CUBE)
    with pytest.raises(shrinkrepro.UsageError, match="fails the control python="):
        shrinkrepro.reduce(script, control=[f"python={sys.executable}"], jobs=1)

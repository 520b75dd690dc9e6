"""Taking bugs out: each kind on programs whose answers are known by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import fresh
from benchmarks.removal.verify import without_bug

ROOT = Path(fresh.__file__).parent.parent

pytestmark = pytest.mark.torch

PRIMAL = """
import torch, functorch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.autograd.functional import jacobian
import torch.autograd.forward_ad as fwAD

calls = []
def f(x):
    calls.append(x)
    return x.item() * x if x.dim() == 0 else 2 * x

x = torch.ones(3)
assert torch.equal(vmap(f)(x), x) and len(calls) == 3  # data-dependent, and yet it runs
assert torch.equal(vmap(lambda a, b: a + b, in_dims=(1, None), out_dims=1)(torch.ones(2, 3), torch.ones(2)),
                   2 * torch.ones(2, 3))
assert grad(lambda p: p["a"].sum())({"a": x})["a"].eq(0).all()
assert jacrev(f)(x).shape == jacfwd(f)(x).shape == jacobian(f, x).shape == (3, 3)
assert hessian(lambda x: x.sum())(x).shape == (3, 3)
y, pullback = vjp(f, x)
assert torch.equal(y, 2 * x) and pullback(y)[0].shape == (3,)
y, t, aux = jvp(lambda x: (f(x), "aux"), (x,), (x,), has_aux=True)
assert torch.equal(t, torch.zeros(3)) and aux == "aux"
assert functorch.vmap(float)(x).shape == (3,)
with fwAD.dual_level():
    assert fwAD.unpack_dual(fwAD.make_dual(x, x) * 2).tangent.eq(0).all()
repr(torch.ones(1))  # asks whether it is dual
w = torch.ones(3, requires_grad=True)
grad(lambda x: (w * x).sum())(x).sum().backward()  # zeros, but a way back to the parameters
assert w.grad.eq(0).all()
assert torch.compile(f, fullgraph=True) is f and torch.compile(fullgraph=True)(f) is f
"""

REFERENCE = """
import torch
from torch.func import grad, hessian, jacfwd, jvp, vjp, vmap
close = torch.testing.assert_close

x = torch.tensor([1.0, 2.0])
close(grad(lambda x: (x ** 3).sum())(x), 3 * x ** 2)
close(vmap(grad(lambda x: x.sin()))(x), x.cos())
close(jvp(torch.sin, (x,), (x,))[1], x.cos() * x)
close(vjp(torch.sin, x)[1](x)[0], x.cos() * x)
close(jacfwd(lambda x: x ** 2)(x), torch.diag(2 * x))
close(hessian(lambda x: (x ** 3).sum())(x), torch.diag(6 * x))
close(jvp(grad(lambda x: (x ** 3).sum()), (x,), (torch.ones(2),))[1], 6 * x)
close(vmap(jacfwd(grad(lambda x: x ** 3)))(x), 6 * x)
assert not grad(lambda x: (x ** 3).sum())(x).requires_grad
"""

FUNCTION = """
import torch
from torch.func import grad, jvp, vmap

class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x ** 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, g):
        return 100 * g

class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

x = torch.tensor(3.0)
assert grad(Wrong.apply)(x) == 6
assert jvp(Old.apply, (x,), (torch.ones(()),))[1] == 27
assert vmap(Wrong.apply)(torch.ones(2)).eq(1).all()
"""


def run(tmp_path: Path, kind: str, source: str) -> fresh.Run:
    program = tmp_path / "program.py"
    program.write_text(source, encoding="utf-8")
    return without_bug(sys.executable, kind, program, timeout=300)


@pytest.mark.parametrize(
    ("kind", "source"),
    [("primal", PRIMAL), ("reference", REFERENCE), ("op:function", FUNCTION)],
    ids=["primal", "reference", "op:function"],
)
def test_answers_known_by_hand(tmp_path: Path, kind: str, source: str) -> None:
    result = run(tmp_path, kind, source)
    assert result.clean, result.output


OPERATORS = """
import torch
from benchmarks.removal import operators
A = torch.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
L = torch.linalg.cholesky(A)
v = torch.tensor([3.0, 4.0])
large = torch.arange(49.0).reshape(7, 7).cos()
new = {name: replaced for kind in ("det", "cholesky_inverse", "layer_norm", "norm")
       for name, replaced in operators.install(kind).items()}
det, norm = new["torch.linalg.det"], new["torch.norm"]
assert det(torch.stack([A, A @ A])).tolist() == [18, 324] and A.det() == 18
torch.testing.assert_close(det(large), torch.linalg.det(large))
torch.testing.assert_close(new["torch.cholesky_inverse"](L) @ A, torch.eye(3), atol=1e-5, rtol=0)
x = torch.stack([v, -v])
torch.testing.assert_close(new["torch.nn.functional.layer_norm"](x, (2,), v, v), torch.layer_norm(x, (2,), v, v))
assert norm(v) == new["torch.linalg.norm"](v) == v.norm() == 5 and v.norm(1) == 7 and v.norm(float("inf")) == 4
assert torch.autograd.functional.hessian(lambda x: norm(x) ** 2, torch.zeros(2)).allclose(2 * torch.eye(2))
"""


def test_operators_are_compositions_of_others(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(OPERATORS, encoding="utf-8")
    result = fresh.command([sys.executable, str(program)], 300, {"PYTHONPATH": str(ROOT)})
    assert result.clean, result.output


def test_a_failure_that_is_not_the_transform_s_stays(tmp_path: Path) -> None:
    result = run(tmp_path, "primal", "import torch\ntorch.ones(1, 1).to_sparse_csr().stride()\n")
    assert result.code == 1
    assert "do not have strides" in result.output


def test_arguments_siblings_and_exit_codes_are_the_program_s(tmp_path: Path) -> None:
    (tmp_path / "install.py").write_text("code = 7\n", encoding="utf-8")  # a name that the runner has too
    source = "import sys, install\nassert sys.argv == [__file__], sys.argv\nsys.exit(install.code)\n"
    assert run(tmp_path, "vmap", source).code == 7


def test_an_unknown_kind_is_said(tmp_path: Path) -> None:
    result = run(tmp_path, "op:gelu", "")
    assert result.code != 0
    assert "gelu" in result.output

"""The reference controls on a real target: each replaces what it says under every name, and nothing else."""

from __future__ import annotations

import pytest

from shrinkrepro.protocol import (
    CONTROL_COMPILE,
    CONTROL_DIFFERENCES,
    CONTROL_DIFFERENCES64,
    CONTROL_FORWARD,
    CONTROL_REFERENCE,
    CONTROL_VMAP,
    EXCEPTION,
    OBSERVE_REFERENCE,
    OK,
    Execution,
    Job,
)
from shrinkrepro.workers.pool import Pool

pytestmark = pytest.mark.torch

MODES = (CONTROL_REFERENCE, CONTROL_FORWARD, CONTROL_VMAP, CONTROL_COMPILE)


def run(pool: Pool, source: str, mode: str) -> Execution:
    return pool.run([Job(source, mode=mode, timeout=60, alone=True)])[0]


# A Function whose rules differ tells which of them was used: 1 for backward, 2 for jvp, 3 for a batch of samples.
TELLTALE = """\
import torch, functorch
from torch.autograd import forward_ad

class Telltale(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return 1 * g

    @staticmethod
    def jvp(ctx, t):
        return 2 * t

    @staticmethod
    def vmap(info, dims, x):
        return x * 0 + 3, dims[0]

f, x = Telltale.apply, torch.ones(2)
"""


def vmap(spelled: str) -> str:
    return f"print({spelled}(f)(x).tolist())\n"


@pytest.mark.parametrize("spelled", ["torch.vmap", "torch.func.vmap", "functorch.vmap", "torch._vmap_internals.vmap"])
def test_vmap_is_a_loop_under_every_name(pool: Pool, spelled: str) -> None:
    for mode in MODES:
        looped = mode in (CONTROL_REFERENCE, CONTROL_VMAP)
        if not looped and "_vmap_internals" in spelled:
            continue  # torch's own older vmap knows no custom rule
        execution = run(pool, TELLTALE + vmap(spelled), mode)
        assert execution.status == OK
        assert execution.stdout == ("[1.0, 1.0]\n" if looped else "[3.0, 3.0]\n")


FORWARD = [
    "torch.func.jvp(f, (x,), (x,))[1]",
    "functorch.jvp(f, (x,), (x,))[1]",
    "torch.func.jacfwd(f)(x).diagonal()",
    "torch.func.linearize(f, x)[1](x)",
]
DUAL = """\
with forward_ad.dual_level():
    y = f(forward_ad.make_dual(x, torch.ones(2)))
    print(forward_ad.unpack_dual(y).tangent.tolist(), forward_ad.unpack_dual(x).tangent)
"""


@pytest.mark.parametrize("program", [*(f"print(({text}).tolist())\n" for text in FORWARD), DUAL])
def test_forward_mode_is_reverse_mode(pool: Pool, program: str) -> None:
    for mode in MODES:
        execution = run(pool, TELLTALE + program, mode)
        assert execution.status == OK, execution.stderr
        assert execution.stdout.startswith("[1.0, 1.0]" if mode in MODES[:2] else "[2.0, 2.0]")


FUNCTIONAL = """\
import torch
from torch.autograd.functional import hessian, jacobian
x = torch.arange(3.0, dtype=torch.float64)
for options in ({}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
    torch.testing.assert_close(jacobian(torch.exp, x, **options), x.exp().diag())
torch.testing.assert_close(hessian(lambda x: x.exp().sum(), x, False, False, True, "forward-mode"), x.exp().diag())
y = (3 * x).requires_grad_()
z = y.square()
rows, = torch.autograd.grad(z, y, torch.eye(3, dtype=x.dtype), is_grads_batched=True)
torch.testing.assert_close(rows, (2 * y).diag().detach())
print(torch.func.hessian(lambda x: x.prod())(x).tolist())
"""


@pytest.mark.parametrize("mode", MODES)
def test_the_older_functions_give_the_same(pool: Pool, mode: str) -> None:
    execution = run(pool, FUNCTIONAL, mode)
    assert (execution.status, execution.stderr) == (OK, "")
    assert execution.stdout == "[[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]\n"


COMPILED = """\
import torch
calls = []
def f(x):
    calls.append(torch.compiler.is_compiling())
    return x + 1
@torch.compile(backend="eager")
def g(x):
    return f(x)
m = torch.nn.Identity()
m.compile(backend="eager")
g(torch.ones(1)), m(torch.ones(1)), torch.compile(f, backend="eager")(torch.ones(1))
print(calls)
"""


def test_compile_is_the_identity(pool: Pool) -> None:
    for mode in (CONTROL_REFERENCE, CONTROL_COMPILE):
        assert run(pool, COMPILED, mode).stdout == "[False, False]\n"
    assert "True" in run(pool, COMPILED, CONTROL_VMAP).stdout


def test_a_function_without_backward_is_differentiated_through(pool: Pool) -> None:
    source = TELLTALE.replace("def backward", "def unused").replace("x * 1", "x * 5")
    source += "print(torch.func.jvp(f, (x,), (x,))[1].tolist(), torch.func.grad(lambda x: f(x).sum())(x).tolist())"
    assert run(pool, source, CONTROL_REFERENCE).stdout == "[5.0, 5.0] [5.0, 5.0]\n"
    assert run(pool, source, CONTROL_VMAP).status == EXCEPTION


def test_differences_run_forward_alone(pool: Pool) -> None:
    source = TELLTALE.replace("def backward", "def unused").replace("x * 1", "x * 5")
    source += """
torch.set_default_dtype(torch.float64)
x = torch.ones(2)
for slope in (torch.func.jvp(f, (x,), (x,))[1], torch.func.vjp(f, x)[1](x)[0],
              torch.func.grad(lambda x: f(x).sum())(x), torch.vmap(torch.func.jacrev(f))(x)):
    torch.testing.assert_close(slope, 5 * x)
calls = []
torch.compile(lambda: calls.append(torch.compiler.is_compiling()))()
print(calls)
"""
    execution = run(pool, source, CONTROL_DIFFERENCES)
    assert (execution.status, execution.stdout) == (OK, "[False]\n"), execution.stderr


def test_differences_stand_for_the_older_functions_too(pool: Pool) -> None:
    source = TELLTALE.replace("return 1 * g", "return 9 * g")
    source += """
from torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
torch.set_default_dtype(torch.float64)
x = torch.tensor([1.0, 2.0])
square = lambda v: f(v * v).sum()
two = lambda a, b: (f(a) * b, b.sum())
pairs = [(jacobian(f, x), torch.eye(2)), (jacobian(two, (x, x), vectorize=True)[0][1], x.diag()),
         (hessian(square, x), 2 * torch.eye(2)), (hessian(lambda a, b: (f(a) * b).sum(), (x, x))[0][1], torch.eye(2)),
         (vjp(f, x, x)[1], x), (jvp(f, x, x)[1], x), (vhp(square, x, x)[1], 2 * x),
         (hvp(square, (x,), (x,))[1][0], 2 * x)]
for got, want in pairs:
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)
"""
    assert run(pool, source, CONTROL_REFERENCE).status == EXCEPTION
    execution = run(pool, source, CONTROL_DIFFERENCES)
    assert execution.status == OK, execution.stderr


def test_differences_in_float64(pool: Pool) -> None:
    source = """\
import torch
x = torch.tensor([0.3, 1.7])
got = torch.func.jacrev(lambda v: v.exp().sin())(x)
torch.testing.assert_close(got, (x.exp() * x.exp().cos()).diag())
"""
    assert run(pool, source, CONTROL_DIFFERENCES).status == EXCEPTION  # float32 is too coarse for them
    execution = run(pool, source, CONTROL_DIFFERENCES64)
    assert execution.status == OK, execution.stderr


def test_facts_of_a_reference_run(pool: Pool) -> None:
    execution = run(
        pool, TELLTALE + "y = torch.vmap(lambda v: f(v) + 1)(x)\nassert (y == 2).all()\n", OBSERVE_REFERENCE
    )
    assert execution.status == OK
    assert execution.facts is not None

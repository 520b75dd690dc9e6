"""The sanitizer on a real target: planted and real bugs are named by line, and healthy programs give no finding."""

from __future__ import annotations

from typing import Any

import pytest

from shrinkrepro.oracles.pairs import ranked, value_from_wire
from shrinkrepro.protocol import OK, RUN, SANITIZE, Execution, Job
from shrinkrepro.workers.pool import Pool

pytestmark = pytest.mark.torch

HEAD = "import torch\nfrom torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap\n"

# A Function whose own rules can be wrong: its line numbers do not matter.
RULES = """
class Square(torch.autograd.Function):
    generate_vmap_rule = {generate}
    @staticmethod
    def forward(x):
        return x * x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]
    @staticmethod
    def jvp(ctx, t):
        return {jvp} * t * ctx.saved_tensors[0]
{vmap}
square = Square.apply
x = torch.linspace(0.5, 2.0, 6)
"""
OWN_VMAP = """
    @staticmethod
    def vmap(info, in_dims, x):
        return {result}, 0
"""
TOLD = "print('said once')\n"


def sanitized(pool: Pool, source: str) -> Execution:
    [execution] = pool.run([Job(source, SANITIZE, 120, alone=True)])
    return execution


def lines(execution: Execution, source: str) -> list[tuple[str, str, str]]:
    texts = source.splitlines()
    return [(texts[f["line"] - 1], f["transform"], f["kind"]) for f in execution.findings]


def rules(jvp: str = "2", result: str = "x * x", last: str = "") -> str:
    own = OWN_VMAP.format(result=result) if result != "x * x" else ""
    return HEAD + RULES.format(jvp=jvp, generate=not own, vmap=own) + last


@pytest.mark.parametrize(
    ("jvp", "result", "call", "transform", "kind"),
    [
        ("3", "x * x", "y = jvp(square, (x,), (x,))", "jvp", "value"),
        ("-2", "x * x", "y = jacfwd(square)(x)", "jacfwd", "sign"),
        ("0", "x * x", "y = vmap(jacfwd(square))(x)", "vmap(jacfwd)", "zero"),
        ("2", "x * x + 1e-3", "y = vmap(square)(x)", "vmap", "value"),
        ("2", "(x * x).double()", "y = vmap(square)(x)", "vmap", "dtype"),
        ("2", "(x * x)[:, None]", "y = vmap(square)(x)", "vmap", "shape"),
        ("2", "x * x / (x > 1)", "y = vmap(square)(x)", "vmap", "inf"),
        ("3", "x * x", "y = linearize(square, x)[1](x)", "linearize", "value"),
        ("3", "x * x", "y = torch.autograd.functional.jacobian(square, x, strategy='forward-mode', vectorize=True)",
         "jacobian", "value"),
    ],
)  # fmt: skip
def test_a_wrong_rule_is_told_with_its_line(
    pool: Pool, jvp: str, result: str, call: str, transform: str, kind: str
) -> None:
    source = rules(jvp, result, f"a = grad(lambda v: square(v).sum())(x)\n{call}\nb = vjp(square, x)[1](x)\n")
    execution = sanitized(pool, source)
    assert lines(execution, source) == [(call, transform, kind)]


def test_a_dual_number_is_looked_at(pool: Pool) -> None:
    source = rules("3") + (
        "import torch.autograd.forward_ad as fwAD\n"
        "with fwAD.dual_level():\n"
        "    y = square(fwAD.make_dual(x, x))\n"
        "    t = fwAD.unpack_dual(y).tangent\n"
        "    print(t, t.requires_grad)\n"
    )
    execution = sanitized(pool, source)
    assert lines(execution, source) == [("    t = fwAD.unpack_dual(y).tangent", "forward_ad", "value")]
    assert execution.stdout.strip().endswith("False")


def test_a_compiled_function_and_the_gradient_of_its_result(pool: Pool) -> None:
    source = HEAD + (
        "def wrong(module, inputs):\n"
        "    return lambda *args: [(args[0] * 2).detach() + args[0]]\n"
        "f = torch.compile(lambda v: v * 3, backend=wrong)\n"
        "g = torch.compile(lambda v: v * 4, backend=wrong)\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "y = f(x)\n"
        "z = g(x)\n"
    )
    told = [(f["line"], f["kind"], f["by"]) for f in sanitized(pool, source).findings]
    assert told == [(8, "value", "gradient"), (9, "value", "reference")]


# A wrong formula of plain autograd, planted past the program's own classes as a preloaded file would.
PLAIN = """
import types
planted = types.ModuleType("__preload__")
import sys; sys.modules["__preload__"] = planted
exec('''
import torch
class Sine(torch.autograd.Function):
    @staticmethod
    def forward(x): return torch.sin(x)
    @staticmethod
    def setup_context(ctx, inputs, output): ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, g): return 1.1 * g * torch.cos(ctx.saved_tensors[0])
''', vars(planted))
sine = planted.Sine.apply
x = torch.linspace(0.5, 2.0, 6)
"""


def test_a_wrong_formula_of_plain_autograd_is_found_by_differences(pool: Pool) -> None:
    source = HEAD + PLAIN + "y = grad(lambda v: (sine(v) ** 2).sum())(x)\nz = grad(lambda v: (v ** 2).sum())(x)\n"
    execution = sanitized(pool, source)
    assert lines(execution, source) == [("y = grad(lambda v: (sine(v) ** 2).sum())(x)", "grad", "value")]
    assert execution.findings[0]["by"] == "slope"


HEALTHY = {
    "rounding": "a = torch.randn(8, 1024)\nprint(vmap(lambda b: a @ b)(torch.randn(9, 1024)).shape)\n"
    "m = 1 / (torch.arange(1, 8.0)[:, None] + torch.arange(7.0))\n"
    "print(vmap(lambda s: torch.linalg.inv(m + s * torch.eye(7)))(torch.tensor([0.0, 1e-6])).shape)\n"
    "def chaos(v):\n    for _ in range(50):\n        v = 3.9 * v * (1 - v)\n    return v\n"
    "print(vmap(grad(chaos))(torch.rand(4)).shape)\n",
    "kinks": "x = torch.tensor([-1.0, 0.0, 2.0, 2.0])\n"
    "for f in (torch.relu, torch.abs, torch.sign, lambda v: v.clamp(0, 2), lambda v: v.max()[None], torch.nn.ELU()):\n"
    "    print(jacfwd(f)(x), jacrev(f)(x), grad(lambda v: f(v).sum())(x))\n",
    "symmetric": "m = torch.randn(3, 3, dtype=torch.float64)\nm = m @ m.T + torch.eye(3, dtype=torch.float64)\n"
    "for f in (torch.linalg.cholesky, torch.linalg.eigvalsh):\n    print(jacfwd(f)(m).shape, jacrev(f)(m).shape)\n",
    "steep": "x = torch.linspace(0.9, 1.4, 5, dtype=torch.float64)\n"
    "print(hessian(lambda v: (v**-12 - v**-6).sum())(x).shape, grad(lambda v: (v * 30).sin().sum())(x))\n",
    "random": "import random\nx = torch.randn(4)\n"
    "print(vmap(lambda v: v + torch.rand(()), randomness='different')(x))\n"
    "print(vmap(lambda v: v + torch.rand(()), randomness='same')(x), grad(lambda v: (v * random.random()).sum())(x))\n"
    "print(grad(lambda v: torch.nn.functional.dropout(v).sum())(x), torch.rand(2), random.random())\n",
    "state": "bn = torch.nn.BatchNorm1d(3)\nx = torch.randn(5, 3)\nseen = []\n"
    "def loss(v):\n    seen.append(len(seen))\n    print('called', seen)\n    return (bn(v) ** 2 * len(seen)).sum()\n"
    "print(torch.autograd.functional.jacobian(loss, x).shape, bn.running_mean, bn.num_batches_tracked, seen)\n"
    "y = torch.ones(3)\ndef change(v):\n    v.mul_(2)\n    return v.sum()\nprint(vmap(change)(y), y)\n",
    "another derivative": "class Step(torch.autograd.Function):\n"
    "    @staticmethod\n    def forward(x): return x.round()\n"
    "    @staticmethod\n    def setup_context(ctx, inputs, output): pass\n"
    "    @staticmethod\n    def backward(ctx, g): return g\n"
    "x = torch.linspace(-1, 1, 5)\nprint(grad(lambda v: (Step.apply(v) ** 2).sum())(x))\n"
    "print(grad(lambda v: (v + (v.round() - v).detach()).sum())(x))\n",
    "compiled": "f = torch.compile(lambda v: vmap(grad(lambda u: u.sin().sum()))(v), backend='eager', fullgraph=True)\n"
    "m = torch.compile(torch.nn.Linear(3, 2), backend='eager')\nx = torch.ones(4, 3)\n"
    "print(f(x), m(x).shape, isinstance(m, torch.nn.Module), sorted(dict(m.named_parameters())))\n",
    "fails itself": "def f(v):\n    return v @ torch.ones(7)\ntry:\n    vmap(f)(torch.ones(2, 3))\n"
    "except RuntimeError as error:\n    print(type(error))\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_program_gives_no_finding_and_runs_as_ever(pool: Pool, name: str) -> None:
    source = HEAD + HEALTHY[name]
    execution = sanitized(pool, source)
    [plain] = pool.run([Job(source, RUN, 120, alone=True)])
    assert (execution.status, execution.findings) == (OK, ())
    assert execution.stdout == plain.stdout


PRINTS = """
class Run:
    def __init__(self, factor):
        self.history = {"norms": [1.5 * factor, 2.5 * factor]}

def report():
    fast = vmap(lambda v: v * 2)(torch.ones(3))
    loop = torch.tensor([2.0, 2.0, 2.5])
    other = torch.tensor([7.0, -3.0, 0.5])
    print("fast", fast, "loop", loop)

runs = [Run(1.0), Run(1.25)]
last = runs[1]
for run in runs:
    print("norms", run.history["norms"])
report()
"""


def test_values_are_reached_by_expressions_that_give_them(pool: Pool) -> None:
    execution = sanitized(pool, HEAD + PRINTS)
    facts: dict[str, Any] = execution.facts or {}
    found = {value["expr"]: value["sample"] for value in facts["values"]}
    assert found["runs[1].history['norms'][0]"] == [1.875]
    assert found["loop"] == [2.0, 2.0, 2.5]
    assert not any(expression.startswith(("last", "run.")) for expression in found)
    pairs = ranked(map(value_from_wire, facts["values"]), HEAD + PRINTS)
    assert (pairs[0].got, pairs[0].want, pairs[0].function) == ("fast", "loop", "report")
    assert {pairs[1].got, pairs[1].want} <= {f"runs[{k}].history['norms']" for k in (0, 1)}

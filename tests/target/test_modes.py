"""Observation and the primal control on a real target."""

from __future__ import annotations

import ast

import pytest

from shrinkrepro.core.facts import ExprFact, Facts
from shrinkrepro.protocol import EXCEPTION, OBSERVE, OBSERVE_PRIMAL, OK, PRIMAL, Execution, Job
from shrinkrepro.workers.pool import Pool

pytestmark = pytest.mark.torch


def run(pool: Pool, source: str, mode: str) -> Execution:
    return pool.run([Job(source, mode=mode, timeout=60)])[0]


def observed(pool: Pool, source: str, mode: str = OBSERVE) -> tuple[Execution, Facts, dict[str, ExprFact]]:
    """The execution, the facts, and the fact of each expression by its source text."""
    execution = run(pool, source, mode)
    tree = ast.parse(source)
    facts = Facts(tree, execution.facts)
    by_text = {}
    for path, fact in facts.items().items():
        node: object = tree
        for step in path:
            node = node[step] if isinstance(step, int) else getattr(node, step)  # type: ignore[index]
        by_text[ast.unparse(node)] = fact  # type: ignore[arg-type]
    return execution, facts, by_text


SCRIPT = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.body = nn.Sequential(nn.Linear(4, width, bias=False), nn.ReLU(), nn.Conv1d(3, 5, 2, padding=1))
        self.rnn = nn.GRU(4, width, batch_first=True)

    def forward(self, x):
        if self.width > 100:
            return x
        return self.body[0](x)

def unused(x):
    return x

def sample(x):
    y = x * 2
    return y.sum()

net = Net(8)
size = net.width // 2
out = net(torch.ones(3, 4))
total = 0
for i in range(5):
    total += i
names = {"a": [1, 2.5, "s"]}
inf = float("inf")
sparse = torch.eye(2).to_sparse_csr()
batched = torch.func.vmap(torch.func.grad(sample))(torch.arange(6.0).reshape(3, 2))
raise ValueError(net.body, net.rnn, torch.float64)
"""


def test_facts_of_a_run(pool: Pool) -> None:
    execution, facts, exprs = observed(pool, SCRIPT)
    assert execution.chain[0].type == "ValueError"
    assert exprs["net.width // 2"].value == {"k": "const", "r": "4"}
    assert exprs["float('inf')"].value == {"k": "const", "r": 'float("inf")'}
    assert exprs["torch.float64"].value == {"k": "const", "r": "torch.float64"}
    ones = exprs["torch.ones(3, 4)"]
    assert (ones.kind, ones.shape, ones.value["dtype"], ones.value["fill"]) == ("tensor", (3, 4), "float32", 1.0)
    assert exprs["torch.eye(2)"].value["values"] == [1.0, 0.0, 0.0, 1.0]
    assert exprs["torch.eye(2).to_sparse_csr()"].value["layout"] == "sparse_csr"
    assert exprs["names" if "names" in exprs else "{'a': [1, 2.5, 's']}"].kind == "dict"
    assert exprs["i"].count == 5
    assert not exprs["i"].same
    assert exprs["net(torch.ones(3, 4))"].callee == 4
    assert exprs["Net(8)"].callee == 4
    assert exprs["net.rnn"].value["r"] == "torch.nn.GRU(4, 8, batch_first=True)"
    layers = "torch.nn.Linear(4, 8, bias=False), torch.nn.ReLU(), torch.nn.Conv1d(3, 5, 2, padding=1)"
    assert exprs["net.body"].value["r"] == f"torch.nn.Sequential({layers})"
    assert exprs["net"].value["cls"] == "Net"
    statements = {s.name: s for s in facts._tree.body if isinstance(s, ast.ClassDef | ast.FunctionDef)}
    assert [facts.ran(statements[name]) for name in ("Net", "unused", "sample")] == [True, False, True]
    loop = next(s for s in facts._tree.body if isinstance(s, ast.For))
    assert facts.count(loop.body[0]) == 5


def test_values_inside_transforms(pool: Pool) -> None:
    _, _, exprs = observed(pool, SCRIPT)
    inner = exprs["x * 2"]
    assert inner.shape == (2,)
    assert inner.value["levels"] == 2
    assert inner.value["values"] == [0.0, 2.0]


def test_one_object_has_one_identity(pool: Pool) -> None:
    source = "import torch\nx = torch.ones(2)\ny = x\nz = x.clone()\nprint(x, y, z)\n"
    _, _, exprs = observed(pool, source)
    assert exprs["x"].identity == exprs["y"].identity == exprs["torch.ones(2)"].identity is not None
    assert exprs["z"].identity not in (None, exprs["x"].identity)


def test_observation_changes_no_verdict(pool: Pool) -> None:
    sources = [
        "import torch\ntorch.func.vmap(lambda x: x.item())(torch.ones(3))",
        "import torch\nx = torch.eye(2).to_sparse_csr()\ntorch.func.grad(lambda x: x.stride()[0])(x)",
        "import torch\nprint(torch.compile(lambda x: x.sin() + 1, backend='eager', fullgraph=True)(torch.ones(2)))",
        "import torch\nwith torch.device('meta'):\n    x = torch.ones(3)\nprint(x, x.item())",
        "import torch\nclass T(torch.Tensor): pass\nx = torch.ones(2).as_subclass(T)\nprint(x + 1)\nassert 0",
        "x = (",
    ]
    plain = pool.run([Job(s, timeout=60, alone=True) for s in sources])
    seen = pool.run([Job(s, timeout=60, mode=OBSERVE) for s in sources])
    for source, a, b in zip(sources, plain, seen):
        assert [(r.type, r.message) for r in a.chain] == [(r.type, r.message) for r in b.chain], source
        assert (a.status, a.stdout) == (b.status, b.stdout), source


def test_a_compiled_region_is_observed_under_the_primal_control(pool: Pool) -> None:
    source = "import torch\n@torch.compile\ndef f(x):\n    y = x + 1\n    return y\nf(torch.ones(2))\n"
    _, facts, exprs = observed(pool, source, OBSERVE_PRIMAL)
    assert exprs["x + 1"].value["fill"] == 2.0
    assert facts.count(facts._tree.body[1].body[1]) == 1  # type: ignore[attr-defined]


SHAPES = """\
import torch, torch.autograd.functional as AF, torch.autograd.forward_ad as fwAD
from torch.func import *

def f(x, y=1.0):
    return {"a": x.sin() * y, "b": (x.sum(),)}

def scalar(x):
    return x.sum()

def shapes(tree):
    return torch.utils._pytree.tree_map(lambda t: tuple(t.shape) if isinstance(t, torch.Tensor) else t, tree)

x = torch.rand(3, 2)
for result in (
    vmap(f)(x), vmap(f, in_dims=1, out_dims={"a": 1, "b": (0,)})(x), vmap(f, (0, None))(x, 2.0),
    vmap(vmap(f), in_dims=1, chunk_size=1)(x), vmap(lambda d: d["k"].sum(), in_dims=({"k": 0},))({"k": x}),
    vmap(lambda x: torch.randn(2) + x, randomness="different")(x),
    grad(scalar)(x), grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x), grad_and_value(scalar)(x),
    grad(lambda x: (x.sum(), x), has_aux=True)(x), grad_and_value(lambda x: (x.sum(), x), has_aux=True)(x),
    vjp(f, x)[0], vjp(scalar, x)[1](torch.ones(())), vjp(lambda x: (x.sum(), x), x, has_aux=True)[2],
    jvp(f, (x,), (x,)), jvp(lambda x: (x.sum(), x), (x,), (x,), has_aux=True),
    linearize(f, x)[0], linearize(f, x)[1](x),
    jacrev(f)(x), jacfwd(f)(x), jacrev(torch.mm, argnums=(0, 1))(x, x.T), jacfwd(torch.mm, argnums=1)(x, x.T),
    jacrev(lambda x: (x.sin(), x), has_aux=True)(x), hessian(scalar)(x), hessian(lambda d: d["k"].sum())({"k": x}),
    vmap(hessian(scalar))(x), vmap(jacrev(jacfwd(f)))(x), functionalize(f)(x),
    AF.jacobian(torch.sin, x), AF.jacobian(torch.mm, (x, x.T)), AF.jacobian(lambda x: (x, x.sum()), x),
    AF.hessian(scalar, x), AF.hessian(lambda a, b: (a * b).sum(), (x, x)), AF.vjp(scalar, x), AF.hvp(scalar, x, x),
    AF.vhp(scalar, x, x), AF.jvp(torch.sin, x, x), AF.jacobian(torch.sin, x, vectorize=True),
    torch.compile(f, backend="eager")(x), vmap(torch.sin)(torch.ones(0, 3)),
):
    print(shapes(result))
with fwAD.dual_level():
    print(shapes(tuple(fwAD.unpack_dual(fwAD.make_dual(x, x).sin()))))
"""


def test_the_primal_control_gives_the_shapes_of_the_transforms(pool: Pool) -> None:
    real, primal = run(pool, SHAPES, "run"), run(pool, SHAPES, PRIMAL)
    assert real.status == OK, real.chain
    assert primal.status == OK, primal.chain
    assert primal.stdout == real.stdout


@pytest.mark.parametrize(
    "body",
    [
        "vmap(lambda x: x.item())(x)",
        "vmap(float)(x)",
        "vmap(lambda x: x if x > 0 else -x)(x)",
        "jacfwd(lambda x: torch.autograd.grad(x.sum(), x)[0])(x.requires_grad_())",
        "vmap(jacrev(lambda x: torch.nn.LSTM(1, 1)(x.view(1, 1, 1))[0]))(x)",
        "from torch.nn.attention.flex_attention import create_mask\n"
        "create_mask(lambda b, h, q, k: bool(q), 1, 1, 1, 1, 'cpu')",
        "y = torch.ones(2)\nvmap(lambda v: y[0].add_(v))(x)",
    ],
)
def test_a_failure_of_a_transform_is_gone_under_the_primal_control(pool: Pool, body: str) -> None:
    source = f"import torch\nfrom torch.func import *\nx = torch.ones(3)\n{body}\n"
    assert run(pool, source, "run").status == EXCEPTION
    primal = run(pool, source, PRIMAL)
    assert primal.status == OK, primal.chain


@pytest.mark.parametrize(
    "body",
    ["vmap(lambda x: x @ torch.ones(7, 7))(x)", "grad(lambda x: undefined)(x)", "torch.autograd.grad(x.sum(), x)"],
)
def test_a_failure_of_the_function_stays_under_the_primal_control(pool: Pool, body: str) -> None:
    source = f"import torch\nfrom torch.func import *\nx = torch.ones(3, 3)\n{body}\n"
    plain, primal = run(pool, source, "run"), run(pool, source, PRIMAL)
    assert primal.status == EXCEPTION
    assert primal.chain[0].type == plain.chain[0].type


def test_what_comes_out_of_a_primal_transform_can_be_differentiated(pool: Pool) -> None:
    source = """\
import torch
from torch.func import grad
x = torch.ones(3, requires_grad=True)
w = torch.ones(3, requires_grad=True)
g = grad(lambda x: (x * w).sum())(x)
for h in torch.autograd.grad(g.sum(), (x, w)):
    assert (h == 0).all()
"""
    primal = run(pool, source, PRIMAL)
    assert primal.status == OK, primal.chain


SCANNED = """\
import torch
from torch._higher_order_ops.scan import scan

def step(carry, x):
    carry = carry + x
    return carry, carry * 2

total, ys = scan(step, torch.zeros(()), torch.arange(4.0))
assert total == 6
print(ys)
"""


@pytest.mark.parametrize("mode", [OBSERVE, OBSERVE_PRIMAL])
def test_functions_that_torch_only_traces_count_as_run(pool: Pool, mode: str) -> None:
    execution, facts, exprs = observed(pool, SCANNED, mode)
    assert (execution.status, execution.stdout) == (OK, "tensor([ 0.,  2.,  6., 12.])\n")
    assert facts.count(facts._tree.body[2]) > 0
    assert ("carry * 2" in exprs) == (mode == OBSERVE_PRIMAL)

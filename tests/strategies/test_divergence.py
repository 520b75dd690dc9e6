"""The first value that the transforms get wrong, and a check made of it on a real target."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from shrinkrepro_strategies.distil import check_for_program
from shrinkrepro_strategies.divergence import cut_at_divergence, divergent, first_divergence
from shrinkrepro_strategies.twins import twins

from shrinkrepro.core.apply import apply
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.protocol import CONTROL_REFERENCE, EXCEPTION, OBSERVE, OBSERVE_REFERENCE, OK, RUN, Job
from tests.strategies.observed import running


@pytest.mark.parametrize(
    ("call", "item", "expected"),
    [
        ("torch.vmap(f)(x)", "", "torch.stack([f(v0) for v0 in x])"),
        ("vmap(f, in_dims=(0, None))(x, y)", "", "torch.stack([f(v0, y) for v0 in x])"),
        ("vmap(f, (1, 0))(x, y)", "", "torch.stack([f(v0, v1) for v0, v1 in zip(x.unbind(1), y)])"),
        ("vmap(f, out_dims=1)(x)", "", "torch.stack([f(v0) for v0 in x], 1)"),
        ("vmap(f)(x)", "[1]", "torch.stack([f(v0)[1] for v0 in x])"),
        ("vmap(grad(f))(x)", "", "torch.stack([torch.autograd.functional.jacobian(f, v0) for v0 in x])"),
        ("torch.compile(f, backend='eager')(x)", "", "f(x)"),
        ("jacfwd(f)(x)", "", "torch.autograd.functional.jacobian(f, x)"),
        ("jacrev(f, argnums=1)(x, y)", "", "torch.func.jacfwd(f, argnums=1)(x, y)"),
        ("hessian(f)(x)", "", "torch.func.jacrev(torch.func.jacrev(f))(x)"),
        ("jvp(f, (x,), (t,))", "[1]", "torch.autograd.functional.jvp(f, (x,), (t,))[1]"),
        ("g(x)", "", "torch.stack([h(v0) for v0 in x])"),
    ],
)
def test_twins(call: str, item: str, expected: str) -> None:
    found = list(twins(call, {"g": "vmap(h)"}, "torch", item))
    assert expected in found
    assert all(ast.parse(text) for text in found)


@pytest.mark.parametrize(
    "call", ["f(x)", "x", "vmap(f, in_dims=dims)(x)", "vmap(f)(*x)", "vjp(f, x)", "vmap(f, (None,))(x)"]
)
def test_what_cannot_be_told_has_no_twin(call: str) -> None:
    assert list(twins(call, {}, "torch")) == []


def test_twins_spell_torch_as_the_program_does() -> None:
    assert "th.func.jacfwd(f)(x)" in list(twins("th.func.jacrev(f)(x)", {}, "th"))


SCRIPT = """\
import torch
from torch.func import jvp

def precision(chol):
    return torch.cholesky_inverse(chol)

def report(value):
    print(value.sum())
    return value * 2

factor = torch.eye(3) + torch.ones(3, 3).tril()
value, slope = jvp(precision, (factor,), (factor.clone(),))
doubled = report(slope)
wanted = report(-2 * precision(factor))
torch.testing.assert_close(doubled, wanted)
"""


@pytest.mark.torch
def test_the_first_wrong_value_is_compared_with_the_same_computed_otherwise(tmp_path: Path) -> None:
    with running(SCRIPT, tmp_path) as (program, pool):
        modes = (OBSERVE, OBSERVE_REFERENCE)
        real, reference = pool.run([Job(program.source, mode, 60, alone=True) for mode in modes])
        assert (real.status, reference.status) == (EXCEPTION, OK)
        facts = Facts(program.tree, real.facts).against(Facts(program.tree, reference.facts))
        assert program.text(program.node(divergent(facts)[0])) == "jvp(precision, (factor,), (factor.clone(),))"
        texts = [apply(program, [edit]) for edit in first_divergence.propose(program, facts)]
        assert any("torch.autograd.functional.jvp(precision" in text and "report" not in text for text in texts)
        failed = pool.run([Job(text, RUN, 60, alone=True) for text in texts])
        passed = pool.run([Job(text, CONTROL_REFERENCE, 60, alone=True) for text in texts])
    assert any(a.status == EXCEPTION and b.status == OK for a, b in zip(failed, passed))


LOOPED = """\
import torch
from torch.func import jvp

results = []
for scale in (1.0, 2.0):
    L = scale * torch.eye(2) + torch.ones(2, 2).tril()
    results.append(jvp(torch.cholesky_inverse, (L,), (L,))[1])
wanted = [-2 * torch.cholesky_inverse(s * torch.eye(2) + torch.ones(2, 2).tril()) for s in (1.0, 2.0)]
print(wanted)
torch.testing.assert_close(results, wanted)
"""


@pytest.mark.torch
def test_what_comes_after_the_first_wrong_value_goes(tmp_path: Path) -> None:
    with running(LOOPED, tmp_path) as (program, pool):
        runs = pool.run([Job(program.source, mode, 60, alone=True) for mode in (OBSERVE, OBSERVE_REFERENCE)])
        facts = Facts(program.tree, runs[0].facts).against(Facts(program.tree, runs[1].facts))
        texts = [apply(program, [edit]) for edit in cut_at_divergence.propose(program, facts)]
        short = [text for text in texts if "wanted" not in text and "break" in text]
        assert short
        for text in short:
            failed, passed = pool.run([Job(text, mode, 60, alone=True) for mode in (RUN, CONTROL_REFERENCE)])
            assert (failed.status, passed.status) == (EXCEPTION, OK)


def test_without_a_reference_nothing_is_proposed() -> None:
    program = Program.parse(SCRIPT)
    assert list(first_divergence.propose(program, Facts.none())) == []


RELAXED = """\
import torch
from torch.func import grad, hessian

def energy(x):
    return (x * x).sum().sqrt()

x = torch.ones(2)
for _ in range(2):
    x = x - grad(lambda v: (v * v).sum() / 2)(x)
h = hessian(energy)(x) / torch.ones(x.shape[0])
assert torch.isfinite(h).all()
"""


@pytest.mark.torch
def test_what_one_transform_made_and_another_is_called_with_becomes_literal(tmp_path: Path) -> None:
    with running(RELAXED, tmp_path) as (program, pool):
        (run,) = pool.run([Job(program.source, OBSERVE, 60, alone=True)])
        facts = Facts(program.tree, run.facts)
        texts = [apply(program, [edit]) for edit in check_for_program.propose(program, facts)]
        (short,) = (text for text in texts if "hessian(energy)(torch.zeros(2))" in text)
        assert "grad(" not in short
        assert "shape" not in short
        assert pool.run([Job(short, RUN, 60, alone=True)])[0].status == EXCEPTION

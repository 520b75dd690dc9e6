"""Functions that transforms made and a script keeps: what a real run shows of them, and where they are written anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from shrinkrepro_strategies.distil import distil_failure
from shrinkrepro_strategies.divergence import first_divergence
from shrinkrepro_strategies.made import Made, made, transforms_for_variable

from shrinkrepro.core.apply import apply
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.protocol import EXCEPTION, OBSERVE, OBSERVE_REFERENCE, RUN, Job
from tests.helpers import candidates
from tests.strategies.observed import running

KEPT = """\
import functools
import torch
from torch.func import grad, jacfwd, vmap

class Scorer:
    def __init__(self, scale):
        self.scale = scale
        self.score = vmap(grad(self.energy), in_dims=(0, None))

    def energy(self, x, w):
        return (self.scale * x * w).sum().item()

def cube(x):
    return x**3

tower = [cube]
for _ in range(2):
    tower.append(jacfwd(tower[-1]))
values = [level(torch.tensor(1.0)) for level in tower]
compiled = torch.compile(cube, backend="eager", fullgraph=True)
torch.vmap(compiled)
compiled
scorer = Scorer(2.0)
scorer.score(torch.ones(3, 2), torch.ones(2))
"""

WRONG = """\
import torch
from torch.func import jacfwd

class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, t):
        return 3 * ctx.saved_tensors[0] ** 2 * t

TABLE = {"ours": Cube.apply, "plain": lambda x: x**3}

def derivatives(f, at):
    levels = [f]
    for _ in range(2):
        levels.append(jacfwd(levels[-1]))
    return torch.stack([level(at) for level in levels])

found = {name: derivatives(f, torch.tensor(2.0)) for name, f in TABLE.items()}
torch.testing.assert_close(found["ours"], found["plain"])
"""


def test_two_jacobians_are_a_hessian() -> None:
    twice = (("jacfwd", ""), ("jacrev", ""))
    assert Made(twice, "f").text("torch") == "torch.func.hessian(f)"
    assert (
        Made((("vmap", "in_dims=1"), *twice), "f").text("torch") == "torch.func.vmap(torch.func.hessian(f), in_dims=1)"
    )
    assert Made((("compile", 'backend="eager"'),), "f").text("th") == 'th.compile(f, backend="eager")'
    assert Made((("jacfwd", "argnums=1"), ("jacrev", "")), "f").text("th") == (
        "th.func.jacfwd(th.func.jacrev(f), argnums=1)"
    )


def test_what_cannot_be_named_is_left_alone() -> None:
    program = Program.parse("def outer():\n    def f(x):\n        return x\n    return f")
    seen = {
        "k": "function",
        "name": "f",
        "line": 1,
        "made": ["grad", ""],
        "of": {"k": "function", "name": "f", "line": 2},
    }
    assert made(program, Facts.none(), seen) is None
    assert made(program, Facts.none(), {"k": "function", "name": "f", "line": 1}) is None
    assert candidates(transforms_for_variable, "g = 1\ng(2)") == []


@pytest.mark.torch
def test_a_kept_function_is_written_where_it_is_called(tmp_path: Path) -> None:
    with running(KEPT, tmp_path) as (program, pool):
        (run,) = pool.run([Job(program.source, OBSERVE, 60, alone=True)])
        facts = Facts(program.tree, run.facts)
        seen = {program.text(program.node(path)): fact for path, fact in facts.items().items()}
        level = seen["level"]
        assert [len(level.at(k).get("made", ())) for k in range(3)] == [0, 2, 2]
        last = made(program, facts, level.at(-1))
        assert last is not None
        assert last.text("torch") == "torch.func.jacfwd(torch.func.jacfwd(cube))"
        fast = made(program, facts, seen["torch.vmap(compiled)"].value)
        assert fast is not None
        assert fast.text("torch") == 'torch.func.vmap(torch.compile(cube, backend="eager", fullgraph=True))'
        assert list(level.orders) == sorted(level.orders)
        texts = [apply(program, [edit]) for edit in transforms_for_variable.propose(program, facts)]
        (text,) = (text for text in texts if "grad(scorer.energy), in_dims=(0, None))(torch.ones(3, 2)" in text)
        assert "self.score" not in text
        assert pool.run([Job(text, RUN, 60, alone=True)])[0].status == EXCEPTION
        small = [apply(program, [edit]) for edit in distil_failure.propose(program, facts)]
        assert any("vmap(torch.func.grad(lambda x:" in text and "Scorer" not in text for text in small)


@pytest.mark.torch
def test_what_goes_wrong_in_a_later_turn_is_checked_there(tmp_path: Path) -> None:
    with running(WRONG, tmp_path) as (program, pool):
        jobs = [Job(program.source, mode, 60, alone=True) for mode in (OBSERVE, OBSERVE_REFERENCE)]
        wires = [run.facts for run in pool.run(jobs)]
        facts = Facts(program.tree, wires[0]).against(Facts(program.tree, wires[1]))
        texts = [apply(program, [edit]) for edit in first_divergence.propose(program, facts)]
        text = next(text for text in texts if "jacfwd(torch.func.jacfwd(Cube.apply))(y)" in text)
        assert "TABLE" not in text
        assert "derivatives" not in text
        assert pool.run([Job(text, RUN, 60, alone=True)])[0].status == EXCEPTION


CLOSED = """\
import torch
from torch.func import grad

def loss(model, x):
    return (model * x).sum().tolist()

def rules(weights, power):
    def f(x):
        return loss(weights, x) ** power

    def itself(x):
        return itself
    return [grad(f), grad(itself)]

first, second = rules(torch.ones(2), 3)
first(torch.zeros(2))
"""


@pytest.mark.torch
def test_what_a_function_reads_from_around_it_is_written_in(tmp_path: Path) -> None:
    with running(CLOSED, tmp_path) as (program, pool):
        (run,) = pool.run([Job(program.source, OBSERVE, 60, alone=True)])
        facts = Facts(program.tree, run.facts)
        texts = [apply(program, [edit]) for edit in transforms_for_variable.propose(program, facts)]
        (text,) = (text for text in texts if "rules" not in text)
        assert "torch.func.grad(lambda x: loss(torch.ones(2), x) ** 3)(torch.zeros(2))" in text
        assert pool.run([Job(text, RUN, 60, alone=True)])[0].status == EXCEPTION

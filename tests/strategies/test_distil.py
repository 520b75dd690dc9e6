"""Distillation: facts of a failure -> whole programs made of what was under way."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from shrinkrepro_strategies import distil
from shrinkrepro_strategies.frames import running, stuck_tests

from shrinkrepro.core.facts import Facts, position_key
from shrinkrepro.core.program import Program
from tests.helpers import candidates, normal

SOURCE = """
import torch

def clip(x, limit):
    if x.max() > limit:
        return x / 2
    return x

def per_sample(model, xs):
    return torch.vmap(lambda x: clip(model(x), 1.5))(xs)

def main():
    model = build()
    xs = load()
    return per_sample(model, xs)
main()
"""


def tensor(*shape: int, levels: int = 0) -> dict[str, Any]:
    return {"k": "tensor", "shape": list(shape), "dtype": "float32", "device": "cpu", "grad": False,
            "layout": "strided", "contiguous": True, "cls": "Tensor", "levels": levels, "values": None,
            "fill": None}  # fmt: skip


def facts_of(source: str, seen: Mapping[str, Mapping[str, Any]], quiet: tuple[str, ...] = ()) -> dict[str, Any]:
    """Wire facts: the texts of ``seen`` were evaluated, in that order; the lines with a text of ``quiet`` never ran."""
    program = Program.parse(source)
    exprs: dict[str, Any] = {}
    order = {text: i for i, text in enumerate(seen)}
    for _, node in program.walk(ast.expr):
        text = program.text(node)
        if text in seen and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            exprs[position_key(node)] = {"n": 1, "same": True, "v": seen[text], "o": None, "t": order[text]}
    lines = {str(i): 1 for i, line in enumerate(program.lines, 1) if not any(text in line for text in quiet)}
    return {"lines": lines, "exprs": exprs}


SEEN: dict[str, Mapping[str, Any]] = {
    "main": {"k": "function", "name": "main", "line": 11},
    "build()": {"k": "object", "cls": "Net", "line": None},
    "load()": tensor(4, 3),
    "per_sample": {"k": "function", "name": "per_sample", "line": 8},
    "model": {"k": "object", "cls": "Net", "line": None},
    "xs": tensor(4, 3),
    "torch.vmap": {"k": "function", "name": "vmap", "line": None},
    "torch.vmap(lambda x: clip(model(x), 1.5))": {"k": "function", "name": "wrapped", "line": None},
    "clip": {"k": "function", "name": "clip", "line": 3},
    "model(x)": tensor(3, levels=1),
    "x.max()": tensor(levels=1),
    "limit": {"k": "const", "r": "1.5"},
    "x.max() > limit": tensor(levels=1),
}


def wire() -> dict[str, Any]:
    return facts_of(SOURCE, SEEN, quiet=("return x / 2", "return x\n"))


def test_frames_are_found_outermost_first() -> None:
    program = Program.parse(SOURCE)
    facts = Facts(program.tree, wire())
    texts = [program.text(program.node(path)) for path in running(program, facts)]
    assert texts == [
        "main()",
        "per_sample(model, xs)",
        "torch.vmap(lambda x: clip(model(x), 1.5))(xs)",
        "clip(model(x), 1.5)",
    ]


def test_a_condition_without_a_branch_is_stuck() -> None:
    program = Program.parse(SOURCE)
    facts = Facts(program.tree, facts_of(SOURCE, SEEN, quiet=("return x",)))
    assert [program.text(program.node(path)) for path in stuck_tests(program, facts)] == ["x.max() > limit"]


def test_the_innermost_call_stands_under_its_transforms() -> None:
    found = candidates(distil.distil_failure, SOURCE, facts_of(SOURCE, SEEN, quiet=("return x",)))
    assert found[0] == normal("import torch\ntorch.vmap(bool)(torch.ones(2))")


def test_what_is_called_is_kept() -> None:
    found = candidates(distil.distil_failure, SOURCE, wire())
    definition = "def clip(x, limit):\n    if x.max() > limit:\n        return x / 2\n    return x\n"
    assert normal(f"import torch\n{definition}torch.vmap(lambda x: clip(x, 1.5))(torch.ones(2, 3))") in found


def test_a_frame_before_the_transforms_stands_alone() -> None:
    source = "import torch\ndef f(x, n):\n    return torch.vmap(torch.sin)(x * n)\nf(torch.load('a'), 3)"
    seen = {
        "f": {"k": "function", "name": "f", "line": 2},
        "torch.load('a')": tensor(4, 3),
        "torch.vmap(torch.sin)": {"k": "function", "name": "wrapped", "line": None},
        "x * n": tensor(4, 3),
    }
    found = candidates(distil.frame_for_program, source, facts_of(source, seen))
    assert normal("import torch\ntorch.vmap(torch.sin)(torch.ones(4, 3))") in found
    assert all("torch.load" not in text for text in found)


def test_local_functions_and_their_names_come_along() -> None:
    source = """
import torch

def main(path):
    w = torch.load(path)
    def f(x):
        return x @ w
    torch.vmap(f)(w)
main('a')
"""
    seen = {
        "main": {"k": "function", "name": "main", "line": 3},
        "w": tensor(4, 4),
        "torch.vmap(f)": {"k": "function", "name": "wrapped", "line": None},
    }
    found = candidates(distil.frame_for_program, source, facts_of(source, seen))
    wanted = "import torch\nw = torch.ones(4, 4)\ndef f(x):\n    return x @ w\ntorch.vmap(f)(torch.ones(4, 4))"
    assert normal(wanted) in found


def test_nothing_is_proposed_without_facts() -> None:
    assert candidates(distil.distil_failure, SOURCE) == []
    assert candidates(distil.frame_for_program, SOURCE) == []


def test_a_captured_tensor_that_is_changed_is_made_outside_of_the_transforms() -> None:
    source = """
import torch
net = build()
def loss(x):
    net.seen.mul_(0.5)
    return net(x)
torch.func.grad(loss)(load())
"""
    seen: dict[str, Mapping[str, Any]] = {
        "torch.func.grad(loss)": {"k": "function", "name": "wrapped", "line": None},
        "load()": tensor(3),
        "net.seen": tensor(2),
        "net.seen.mul_": {"k": "function", "name": "torch.Tensor.mul_", "line": None},
    }
    found = candidates(distil.distil_failure, source, facts_of(source, seen, quiet=("return net(x)",)))
    expected = "import torch\nt = torch.ones(2)\ntorch.func.grad(lambda x: t.mul_(0.5))(torch.tensor(1.0))"
    assert normal(expected) in found

"""Provenance: what came out of a transform, and what a check compares it with."""

from __future__ import annotations

import ast

from shrinkrepro_strategies.provenance import Provenance

from shrinkrepro.core.program import Program

SOURCE = """
import torch

def run(f, x):
    return torch.func.jvp(f, (x,), (x,))[1]
w = torch.randn(3)
size = len(w)
slope = run(torch.sin, w)
reference = w.cos()
gap = (slope - reference).abs()
torch.testing.assert_close(slope, reference)
"""


def assigned(program: Program, name: str) -> tuple[str | int, ...]:
    return next(path for path, node in program.walk(ast.Assign) if program.text(node).startswith(f"{name} ="))


def test_values_are_followed_through_functions_and_variables() -> None:
    program = Program.parse(SOURCE)
    live = Provenance(program)
    found = {name for name in ("w", "size", "slope", "reference", "gap") if live.transformed(assigned(program, name))}
    assert found == {"slope", "gap"}


def test_a_reference_stays_code_and_inputs_do_not() -> None:
    program = Program.parse(SOURCE)
    live = Provenance(program)
    live.keep_reference()
    assert live.transformed(assigned(program, "reference"))
    assert not live.transformed(assigned(program, "w"))


def test_what_an_input_is_made_of_is_no_reference() -> None:
    program = Program.parse(
        "import torch\n"
        "size = load()\n"
        "rows = [torch.tensor(p) for p in points(size)]\n"
        "x = torch.stack(rows)\n"
        "want = x.sum(0)\n"
        "torch.testing.assert_close(torch.vmap(f)(x), want)\n"
    )
    live = Provenance(program)
    live.keep_reference()
    assert {name for name in ("size", "rows", "x", "want") if live.transformed(assigned(program, name))} == {"want"}


def test_the_parameters_of_a_function_that_computes_the_reference_stay_and_the_transformed_ones_inputs_do_not() -> None:
    program = Program.parse(
        "import torch\n"
        "def overlap(a):\n"
        "    return a.sin()\n"
        "def central(f, v, eps):\n"
        "    return (f(v + eps) - f(v - eps)) / (2 * eps)\n"
        "def check(radius):\n"
        "    def objective(b):\n"
        "        return overlap(b)\n"
        "    got = torch.func.grad(objective)(radius)\n"
        "    torch.testing.assert_close(got, central(objective, radius, 0.01))\n"
        "check(torch.ones(()))\n"
    )
    live = Provenance(program)
    live.keep_reference()
    kept = {program.text(n) for path, n in program.walk(ast.Name) if live.transformed(path)}
    assert {"f", "v", "eps"} <= kept
    assert not {"a", "b", "radius"} & kept

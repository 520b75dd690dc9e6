"""Captured values: a function that does not read its input is mapped over what it captures."""

from __future__ import annotations

from shrinkrepro_strategies import captured

from tests.helpers import candidates, normal
from tests.strategies.observed import ran, tensor


def test_a_function_is_mapped_over_what_it_captures() -> None:
    source = "import torch\nx = torch.zeros(1)\ncheck(torch.vmap(lambda p: f(x))(torch.ones(1)), f(x)[None])"
    assert candidates(captured.map_over_captured, source) == [
        normal("import torch\nx = torch.zeros(1, 1)\ncheck(torch.vmap(f)(x), f(x))")
    ]


def test_a_literal_in_the_function_gets_the_rows_that_were_mapped() -> None:
    source = "import torch\ntorch.vmap(lambda p: f(torch.ones(2)))(q)"
    found = candidates(captured.map_over_captured, source, ran(source, {"q": tensor(3)}))
    assert found == [
        normal("import torch\ntorch.vmap(f)(torch.ones(1, 2))"),
        normal("import torch\ntorch.vmap(f)(torch.ones(3, 2))"),
    ]


def test_a_function_that_reads_its_input_or_an_unknown_thing_is_left_alone() -> None:
    head = "import torch\nx = torch.zeros(1)\n"
    assert candidates(captured.map_over_captured, head + "torch.vmap(lambda p: f(p))(x)") == []
    assert candidates(captured.map_over_captured, "import torch\ntorch.vmap(lambda p: f(g))(x)") == []
    assert candidates(captured.map_over_captured, head + "torch.func.grad(lambda p: f(x))(x)") == []

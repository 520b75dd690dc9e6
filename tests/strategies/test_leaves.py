"""Leaves and shared names: what is differentiated gets a tensor of its own, what stands twice a name."""

from __future__ import annotations

from shrinkrepro_strategies import leaves

from tests.helpers import candidates, normal
from tests.strategies.observed import Wire, ran, tensor


def seen(source: str, text: str, **more: object) -> Wire:
    """Facts of ``source`` in which ``text`` was a tensor that needs a gradient."""
    return ran(source, {text: {**tensor(2, dtype="bfloat16"), "grad": True, **more}})


DIFFERENTIATED = """
import torch
model = torch.nn.Linear(2, 2)
def f(v):
    return torch.autograd.grad(torch.sin(model(torch.ones(2))), model.parameters(), v)
torch.vmap(f)(torch.ones(3, 2))
"""


def test_what_is_differentiated_becomes_a_tensor_of_its_own_and_what_led_to_it_goes() -> None:
    found = candidates(
        leaves.leaf_for_differentiated, DIFFERENTIATED, seen(DIFFERENTIATED, "model(torch.ones(2))", levels=0)
    )
    expected = """
import torch
y = torch.zeros(2, dtype=torch.bfloat16, requires_grad=True)
def f(v):
    return torch.autograd.grad(torch.sin(y), y, v)
torch.vmap(f)(torch.ones(3, 2))
"""
    assert found == [normal(expected.replace("zeros", name)) for name in ("ones", "zeros")]


def test_the_output_itself_and_what_needs_no_gradient_are_left_alone() -> None:
    whole = "torch.sin(model(torch.ones(2)))"
    assert candidates(leaves.leaf_for_differentiated, DIFFERENTIATED, seen(DIFFERENTIATED, whole)) == []
    plain = ran(DIFFERENTIATED, {"model(torch.ones(2))": tensor(2)})
    assert candidates(leaves.leaf_for_differentiated, DIFFERENTIATED, plain) == []


def test_what_is_written_twice_gets_a_name_where_that_is_less() -> None:
    twice = "import torch\ndef g():\n    pass\nf(torch.ones(3, dtype=int), g(), torch.ones(3, dtype=int))"
    assert candidates(leaves.name_for_repeated, twice) == [
        normal("import torch\ndef g():\n    pass\nx = torch.ones(3, dtype=int)\nf(x, g(), x)")
    ]


def test_short_things_and_things_of_a_scope_keep_standing_twice() -> None:
    assert candidates(leaves.name_for_repeated, "import torch\nf(torch.Size, torch.Size)") == []
    inside = "import torch\ndef f(n):\n    return torch.ones(n, 3, n), torch.ones(n, 3, n)"
    assert candidates(leaves.name_for_repeated, inside) == []


def test_an_operand_takes_over_the_need_for_a_gradient() -> None:
    source = "import torch\nmodel = g()\nx = torch.zeros(2)\nf(model(x))"
    facts = ran(source, {"model(x)": {**tensor(2), "grad": True}, "x": tensor(2)})
    assert candidates(leaves.gradient_for_operation, source, facts) == [
        normal("import torch\nx = torch.zeros(2, requires_grad=True)\nf(x)"),
        normal("import torch\nx = torch.ones(2, requires_grad=True)\nf(x)"),
    ]


def test_an_operand_that_needs_a_gradient_or_is_another_shape_stays() -> None:
    source = "import torch\nx = torch.zeros(2)\nf(model(x))"
    for seen_x in (tensor(3), {**tensor(2), "grad": True}):
        facts = ran(source, {"model(x)": {**tensor(2), "grad": True}, "x": seen_x})
        assert candidates(leaves.gradient_for_operation, source, facts) == []

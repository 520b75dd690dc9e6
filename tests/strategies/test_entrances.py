"""A transformed function takes what it makes of its input for the input."""

from __future__ import annotations

from shrinkrepro_strategies import entrances

from tests.helpers import candidates, normal
from tests.strategies.observed import ran, tensor

SOURCE = normal(
    "import torch\ndef f(x):\n    y = x * w\n    return torch.sqrt(y.sum())\nw = torch.ones(3)\n"
    "torch.func.grad(f)(torch.zeros(3))"
)
SEEN = {
    "x": tensor(3),
    "w": tensor(3),
    "x * w": tensor(3),
    "y": tensor(3),
    "y.sum()": tensor(),
    "torch.sqrt(y.sum())": tensor(),
    "torch.zeros(3)": tensor(3),
}


def test_the_computation_starts_later_and_what_led_there_goes() -> None:
    found = candidates(entrances.later_input, SOURCE, ran(SOURCE, SEEN))
    late = "import torch\ndef f(x):\n    return torch.sqrt(x)\ntorch.func.grad(f)(torch.tensor(0.0))"
    early = "import torch\ndef f(x):\n    y = x\n    return torch.sqrt(y.sum())\ntorch.func.grad(f)(torch.randn(3))"
    assert normal(late) in found
    assert normal(early) in found


def test_a_function_that_no_transform_gets_stays() -> None:
    source = normal(SOURCE.replace("torch.func.grad(f)(torch.zeros(3))", "f(torch.zeros(3))"))
    assert candidates(entrances.later_input, source, ran(source, SEEN)) == []


def test_what_reads_the_old_input_afterwards_keeps_it() -> None:
    source = normal(SOURCE.replace("torch.sqrt(y.sum())", "torch.sqrt(y.sum()) + x[0]"))
    found = candidates(entrances.later_input, source, ran(source, SEEN))
    assert all("x * w" in text for text in found)


def test_without_facts_nothing_is_known_of_it() -> None:
    assert candidates(entrances.later_input, SOURCE) == []


def test_what_is_computed_twice_starts_later_in_both() -> None:
    twice = SOURCE.replace("\ntorch.func.grad(f)(torch.zeros(3))", "\nx0 = torch.zeros(3)\ntorch.func.hessian(f)(x0)")
    source = normal(f"{twice}\ntorch.autograd.functional.hessian(f, x0)")
    found = candidates(entrances.later_input, source, ran(source, {**SEEN, "x0": tensor(3)}))
    assert any(text.count("torch.tensor(0.0)") == 2 and "x0" not in text for text in found)
    other = normal(source.replace("functional.hessian(f, x0)", "functional.hvp(f, x0, x0)"))
    assert candidates(entrances.later_input, other, ran(other, {**SEEN, "x0": tensor(3)})) == []

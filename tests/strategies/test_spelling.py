"""Spelling: shorter ways to write one operation."""

from __future__ import annotations

import pytest
from shrinkrepro_strategies import spelling

from tests.helpers import candidates, normal
from tests.strategies.observed import const, ran


def test_a_function_of_a_tensor_becomes_its_method() -> None:
    source = "import torch\nimport torch.nn.functional as F\nf(torch.sub(x, y, alpha=2), F.relu(x[0]), torch.ones(2))"
    found = candidates(spelling.method_for_function, source)
    head = "import torch\nimport torch.nn.functional as F\n"
    assert found == [
        normal(head + "f(x.sub(y, alpha=2), F.relu(x[0]), torch.ones(2))"),
        normal(head + "f(torch.sub(x, y, alpha=2), x[0].relu(), torch.ones(2))"),
    ]


def test_what_is_no_tensor_or_needs_brackets_has_no_method() -> None:
    assert candidates(spelling.method_for_function, "import torch\ntorch.sin(x + y)") == []
    source = "import torch\nn = 2\ntorch.full(n, 1)"
    assert candidates(spelling.method_for_function, source, ran(source, {"n": const(2)})) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("g = torch.autograd.grad(y, x)[0]", "y.backward()\ng = x.grad"),
        ("(g,) = torch.autograd.grad(y, [x])", "y.backward()\n(g,) = (x.grad,)"),
        ("torch.autograd.grad(y, x)", "y.backward()"),
        ("assert f(torch.autograd.grad(y, x)[0])", "y.backward()\nassert f(x.grad)"),
    ],
)
def test_a_gradient_is_left_by_backward(before: str, after: str) -> None:
    found = candidates(spelling.backward_for_grad, f"import torch\n{before}")
    assert found == [normal(f"import torch\n{after}")]


def test_the_sum_may_go_and_a_condition_keeps_the_gradient() -> None:
    found = candidates(spelling.backward_for_grad, "import torch\nf(torch.autograd.grad(y.sum(), x)[0])")
    assert normal("import torch\ny.backward()\nf(x.grad)") in found
    assert candidates(spelling.backward_for_grad, "import torch\nc and torch.autograd.grad(y, x)") == []

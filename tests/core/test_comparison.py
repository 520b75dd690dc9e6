"""What a failed check rests on, by name."""

from __future__ import annotations

import pytest

from shrinkrepro.core.comparison import COMPARISON, TRANSFORM, raises, traits

OWING = [
    "torch.testing.assert_close(torch.vmap(f)(x), y)",
    "got = torch.func.grad(f)(x)\nassert got == 0",
    "from torch.func import jvp as push\n_, t = push(f, (x,), (x,))\nassert torch.allclose(t, x)",
    "results = {}\nresults['a'] = torch.compile(f)(x)\nassert (results['a'] - y).abs().max() < 1",
    "results = []\nresults.append(torch.func.hessian(f)(x))\nassert results[0].sum() == 0",
    "for h in [torch.func.jacrev(f)]:\n    assert h(x) == y",
    "def helper(x):\n    return torch.vmap(f)(x)\nassert helper(x) == y",
    "def same(a, b):\n    assert torch.allclose(a, b)\nz = torch.vmap(f)(x)\nsame(z, y)",
    "class Net:\n    def run(self, x):\n        return torch.vmap(f)(x)\nassert Net().run(x) == y",
    "class Net:\n    def __init__(self):\n        self.out = torch.vmap(f)(x)\nnet = Net()\nassert net.out == y",
    "x.sum().backward()\nassert x.grad == 1",
    "(grad,) = torch.autograd.grad(x.sum(), x)\nassert grad == 1",
    "z = torch.vmap(f)(x)\nif not torch.allclose(z, y):\n    raise AssertionError('differ')",
]
NOT_OWING = [
    "assert 0",
    "assert torch.zeros(1)",
    "torch.testing.assert_close(torch.ones(1), torch.zeros(1))",
    "torch.vmap(f)(x)\nassert torch.zeros(1)",
    "a = torch.vmap(f)(x)\nb = torch.ones(1)\nassert torch.allclose(b, 2 * b)",
    "grad = torch.ones(1)\nassert torch.allclose(grad, 2 * grad)",
    "def helper(x):\n    return x\ntorch.vmap(f)(x)\nassert helper(x) == y",
]
START = "import torch\n\nx = torch.ones(2)\ny = torch.zeros(2)\nf = torch.sin\n"


def line_of_check(source: str) -> int:
    lines = source.splitlines()
    return max(n for n, line in enumerate(lines, 1) if "assert" in line.lower())


@pytest.mark.parametrize("text", OWING)
def test_owes(text: str) -> None:
    source = START + text
    assert TRANSFORM in traits(source, line_of_check(source))


@pytest.mark.parametrize("text", NOT_OWING)
def test_owes_nothing(text: str) -> None:
    source = START + text
    assert TRANSFORM not in traits(source, line_of_check(source))


@pytest.mark.parametrize("text", OWING)
def test_compares(text: str) -> None:
    source = START + text
    assert COMPARISON in traits(source, line_of_check(source))


@pytest.mark.parametrize(
    "text", ["assert 0", "assert torch.zeros(1)", "assert torch.vmap(f)(y)[0]", "x == y\nassert torch.vmap(f)(y).all()"]
)
def test_compares_nothing(text: str) -> None:
    source = START + text
    assert COMPARISON not in traits(source, line_of_check(source))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("raise ValueError(1)", True),
        ("if (\n    x.sum() > 1\n):\n    raise ValueError(1)", True),
        ("assert 0", False),
        ("def f(x):\n    raise ValueError(1)\nf(x)", False),
    ],
)
def test_a_raise_of_its_own(text: str, expected: bool) -> None:
    assert raises(text, text.count("\n") + 1) is expected

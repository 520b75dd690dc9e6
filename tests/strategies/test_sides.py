"""The same part of both sides of a check."""

from __future__ import annotations

import pytest
from shrinkrepro_strategies import sides

from tests.helpers import candidates, normal


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("assert torch.allclose(a - b, c - d)", ["assert torch.allclose(b, d)", "assert torch.allclose(a, c)"]),
        ("assert a.sum().allclose(b.sum())", ["assert a.allclose(b)"]),
        (
            "assert ((k * a) - (k * b)).abs().max() < 1",
            ["assert (a - b).abs().max() < 1", "assert (k - k).abs().max() < 1"],
        ),
        ("assert f(x)[0] == f(y)[0]", ["assert f(x) == f(y)"]),
        ("assert f(x) == g(y)", []),
        ("assert a == 1", []),
        (
            "u = a - b\nv = c - d\nassert u.equal(v)",
            ["u = b\nv = d\nassert u.equal(v)", "u = a\nv = c\nassert u.equal(v)"],
        ),
    ],
)
def test_the_same_part_is_taken_of_both(before: str, after: list[str]) -> None:
    assert candidates(sides.part_of_both_sides, before) == [normal(text) for text in after]


def test_functions_are_followed_to_what_they_return() -> None:
    source = "def f(x):\n    return x - {}\ndef g(x):\n    u = x - {}\n    return u\nassert torch.equal(f(x), g(x))"
    found = candidates(sides.part_of_both_sides, source.format("2 * x", "x * 2"))
    assert found[0] == normal(
        "def f(x):\n    return 2 * x\ndef g(x):\n    u = x * 2\n    return u\nassert torch.equal(f(x), g(x))"
    )

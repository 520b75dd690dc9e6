"""zip and enumerate lose what is not used; a comprehension that is indexed gives its element."""

from __future__ import annotations

import pytest
from shrinkrepro_strategies import paired

from tests.helpers import candidates, normal


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[f(b) for a, b in zip(x, y)]", ["[f(b) for b in y]"]),
        ("[f(a, c) for a, b, c in zip(x, y, z)]", ["[f(a, c) for a, c in zip(x, z)]"]),
        ("for k, v in enumerate(x):\n    f(v)", ["for v in x:\n    f(v)"]),
        ("[1 for a, b in zip(x, y)]", ["[1 for b in y]", "[1 for a in x]"]),
        ("[f(k) for k, v in enumerate(x)]", []),
        ("[f(a, b) for a, b in zip(x, y)]", []),
        ("[f(a) for a, b in zip(*x)]", []),
    ],
)
def test_drop_paired(source: str, expected: list[str]) -> None:
    assert candidates(paired.drop_paired, source) == [normal(text) for text in expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[f(v) for v in x][2]", ["f(x[2])"]),
        ("[f(v, k) for k, v in enumerate(x)][-1]", ["f(x[-1], -1)"]),
        ("[a * b for a, b in zip(x, y)][0]", ["x[0] * y[0]"]),
        ("[f(v) for v in x if v][2]", []),
        ("[f(v) for v in x][i]", []),
        ("[f(v) for w in x for v in w][0]", []),
    ],
)
def test_one_element(source: str, expected: list[str]) -> None:
    assert candidates(paired.one_element, source) == [normal(text) for text in expected]


def test_what_a_comprehension_only_hands_on() -> None:
    found = candidates(paired.iterable_for_comprehension, "torch.stack([v for v in x], 1)")
    assert found == [normal("torch.stack(x, 1)"), normal("torch.stack(list(x), 1)")]
    assert candidates(paired.iterable_for_comprehension, "{a for a, b in x}") == []
    assert candidates(paired.iterable_for_comprehension, "[v for v in x if v]") == []

"""What a check compares with becomes the number that it is, and what led to it goes."""

from __future__ import annotations

import ast

import pytest
from shrinkrepro_strategies.descriptions import exact_source
from shrinkrepro_strategies.expected import fill_for_eager, value_for_expected

from shrinkrepro.core.facts import position_key
from shrinkrepro.core.program import Program
from tests.helpers import candidates, normal
from tests.strategies.observed import const, ran, seq, tensor

BUILT = """
import torch

def plain(v):
    return v * 2

x = torch.ones(2)
got = torch.vmap(torch.sin)(x)
want = []
for v in x:
    want.append(plain(v))
torch.testing.assert_close(got, torch.stack(want))
"""
VALUES = {
    "torch.stack(want)": {**tensor(2), "values": [2.0, 2.0], "fill": 2.0},
    "got": tensor(2),
    "x": tensor(2),
    "[]": seq(),
}


@pytest.mark.torch
def test_what_was_only_needed_for_the_expected_value_goes_with_it() -> None:
    [found] = candidates(value_for_expected, BUILT, ran(BUILT, VALUES))
    assert normal(found) == normal("""
import torch
x = torch.ones(2)
got = torch.vmap(torch.sin)(x)
torch.testing.assert_close(got, torch.tensor([2.0, 2.0]))
""")


@pytest.mark.torch
def test_what_a_transform_made_stays() -> None:
    source = BUILT.replace("torch.stack(want)", "torch.vmap(plain)(x)")
    wire = ran(source, {"torch.vmap(plain)(x)": {**tensor(2), "values": [2.0, 2.0], "fill": 2.0}, "got": tensor(2)})
    assert candidates(value_for_expected, source, wire) == []


@pytest.mark.torch
@pytest.mark.parametrize(
    ("check", "seen", "expected"),
    [
        ("assert got.sum() == total(x)", {"total(x)": const(4.5), "got.sum()": tensor()}, "got.sum() == 4.5"),
        ("assert abs(got.sum() - total(x)) < 1", {"total(x)": const(4.5), "got.sum()": tensor()}, "(got.sum() - 4.5)"),
    ],
)
def test_sides_of_comparisons(check: str, seen: dict[str, dict[str, object]], expected: str) -> None:
    source = (
        f"import torch\ndef total(x):\n    return 4.5\nx = torch.ones(2)\ngot = torch.vmap(torch.sin)(x)\n{check}\n"
    )
    test = check.removeprefix("assert ")
    found = candidates(value_for_expected, source, ran(source, {**seen, test: const(False)}))
    assert any(expected in text and "total" not in text for text in found)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({**tensor(), "values": [0.1234567890123], "fill": 0.1234567890123}, "torch.tensor(0.1234567890123)"),
        ({**tensor(2, 1, dtype="float64"), "values": [1.5, 2.0]}, "torch.tensor([[1.5], [2.0]], dtype=torch.float64)"),
        ({**tensor(3), "values": [0.0] * 3, "fill": 0.0}, "torch.zeros(3)"),
        ({**tensor(20), "values": None, "fill": 1.0}, "torch.ones(20)"),
        ({**tensor(20), "values": None, "fill": None}, None),
        ({**tensor(1), "values": ["nan"], "fill": "nan"}, None),
        (const("text"), None),
        (const(-2.5), "-2.5"),
    ],
)
def test_exact_sources(value: dict[str, object], text: str | None) -> None:
    assert exact_source(value) == text


@pytest.mark.torch
def test_what_is_compared_with_the_compiled_same_may_be_its_number() -> None:
    source = "import torch\nx = torch.ones(2)\nf = torch.vmap(torch.neg)\nassert torch.equal(f(x), torch.compile(f)(x))"
    sides = {"f(x)": {**tensor(2), "values": [2.0, 3.0]}, "torch.compile(f)(x)": {**tensor(2), "values": [4.0, 5.0]}}
    test = {"torch.equal(f(x), torch.compile(f)(x))": const(False)}
    facts = ran(source.replace("torch.compile(f)", "f"))  # the lines are the same, and a compiler takes long
    found = candidates(value_for_expected, source, facts | {"exprs": _described(source, {**sides, **test})})
    assert found == [normal(source.replace("(f(x),", "(torch.tensor([2.0, 3.0]),"))]
    assert candidates(fill_for_eager, source, facts | {"exprs": _described(source, {**sides, **test})}) == []
    sides["f(x)"] = {**tensor(2), "values": [1.0, 1.0], "fill": 1.0}
    found = candidates(fill_for_eager, source, facts | {"exprs": _described(source, {**sides, **test})})
    assert found == [normal(source.replace("(f(x),", "(torch.ones(2),"))]


def _described(source: str, values: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Facts of the expressions of ``source`` whose text is a key of ``values``."""
    found = {}
    for order, (_, node) in enumerate(Program.parse(source).walk(ast.expr)):
        if ast.unparse(node) in values:
            found[position_key(node)] = {"n": 1, "same": True, "v": values[ast.unparse(node)], "t": order}
    return found

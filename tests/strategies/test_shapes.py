"""Shapes: sizes that are written alike shrink together."""

from __future__ import annotations

from shrinkrepro_strategies import shapes

from tests.helpers import candidates, normal


def test_all_sizes_at_once() -> None:
    found = candidates(shapes.shrink_sizes_together, "f(ones(8, 64), zeros(64, 3))")
    assert normal("f(ones(1, 1), zeros(1, 1))") not in found
    assert normal("f(ones(2, 2), zeros(2, 2))") in found
    assert normal("f(ones(3, 5), zeros(5, 2))") in found


def test_one_size_everywhere() -> None:
    found = candidates(shapes.shrink_size, "f(ones(8, 64), zeros(64))")
    assert normal("f(ones(8, 2), zeros(2))") in found
    assert normal("f(ones(8, 48), zeros(48))") in found


def test_ones_come_last() -> None:
    assert shapes.size_one.tier > shapes.shrink_size.tier
    found = candidates(shapes.size_one, "f(ones(2, 3), zeros(3))")
    assert normal("f(ones(1, 1), zeros(1))") in found
    assert normal("f(ones(2, 1), zeros(3))") in found


def test_only_dimensions_of_tensors_when_facts_tell() -> None:
    tensor = {"k": "tensor", "shape": [8], "dtype": "float32", "levels": 0, "values": None, "fill": None}
    wire = {"lines": {"1": 1}, "exprs": {"1:0:1:7:Call": {"n": 1, "same": True, "v": tensor, "o": 1, "t": 1}}}
    found = candidates(shapes.shrink_size, "ones(8)\nf(1000003)", wire)
    assert found
    assert all("1000003" in text for text in found)


def test_booleans_are_no_sizes() -> None:
    assert candidates(shapes.shrink_size, "f(True, 1, 0)") == []


def test_one_of_a_stack_with_the_sizes_that_counted_it() -> None:
    source = "import torch\ny = torch.stack([a, b, c])\nf(y, torch.ones(2, 3), torch.zeros(3))"
    assert candidates(shapes.one_of_stack, source) == [
        normal("import torch\ny = torch.stack([a])\nf(y, torch.ones(2, 1), torch.zeros(1))"),
        normal("import torch\ny = a\nf(y, torch.ones(2), torch.zeros(1))"),
    ]
    assert candidates(shapes.one_of_stack, "import torch\ntorch.stack([a])") == []
    assert candidates(shapes.one_of_stack, "import torch\ntorch.stack([*a, b])") == []

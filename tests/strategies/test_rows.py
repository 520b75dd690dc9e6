"""Rows: one element for several, and a call with a row for one that is mapped."""

from __future__ import annotations

import pytest
from shrinkrepro_strategies import rows

from tests.helpers import candidates, normal


def test_one_element_stays_and_sizes_of_as_many_become_one() -> None:
    source = "import torch\nf(torch.tensor([3, 4]), torch.tensor([5, 6]), torch.ones(2, 7), torch.zeros(7))"
    assert candidates(rows.one_row, source) == [
        normal("import torch\nf(torch.tensor([4]), torch.tensor([6]), torch.ones(1, 7), torch.zeros(7))"),
        normal("import torch\nf(torch.tensor([3]), torch.tensor([5]), torch.ones(1, 7), torch.zeros(7))"),
    ]


def test_a_single_tensor_of_data_is_no_business_of_sizes() -> None:
    assert candidates(rows.one_row, "import torch\nf(torch.tensor([3, 4]), torch.ones(3))") == []
    assert candidates(rows.one_row, "import torch\nf(torch.tensor([*x, 4]), torch.ones(2))") == []


@pytest.mark.parametrize(
    ("mapped", "called"),
    [
        ("torch.vmap(f)(torch.ones(2, 3))", "f(torch.ones(3))"),
        ("torch.vmap(lambda x: x)(torch.zeros(2, dtype=int))", "(lambda x: x)(torch.tensor(0.0, dtype=int))"),
        ("torch.vmap(f, in_dims=(1, None))(torch.rand(2, 3), y)", "f(torch.rand(2), y)"),
        ("torch.vmap(f, (0, 1))(x, y + 1)", "f(x[0], (y + 1)[:, 0])"),
    ],
)
def test_a_mapped_function_is_called_with_a_row(mapped: str, called: str) -> None:
    assert candidates(rows.row_for_mapped, f"import torch\n{mapped}") == [normal(f"import torch\n{called}")]


def test_a_tensor_with_a_name_loses_its_rows_where_it_stands() -> None:
    source = "import torch\nx = torch.ones(2, 3)\ntorch.vmap(f)(x)"
    assert candidates(rows.row_for_mapped, source) == [normal("import torch\nx = torch.ones(3)\nf(x)")]
    twice = source + "\nx.sum()"
    assert candidates(rows.row_for_mapped, twice) == [normal("import torch\nx = torch.ones(2, 3)\nf(x[0])\nx.sum()")]


def test_dimensions_that_are_not_plain_are_left_alone() -> None:
    assert candidates(rows.row_for_mapped, "import torch\ntorch.vmap(f, in_dims=d)(x)") == []
    assert candidates(rows.row_for_mapped, "import torch\ntorch.vmap(f, in_dims=(0, 0))(*x)") == []

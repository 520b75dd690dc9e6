"""Tensors: one property at a time goes to what torch takes by itself."""

from __future__ import annotations

from shrinkrepro_strategies import selections, tensors

from tests.helpers import candidates, normal


def test_the_ladder_of_constructors() -> None:
    found = candidates(tensors.plainer_tensor, "import torch\ntorch.randn(2, 3, generator=g)")
    assert found[0] == normal("import torch\ntorch.ones(2, 3)")
    assert candidates(tensors.plainer_tensor, "import torch\ntorch.zeros(2)") == []


def test_dimensions_go_until_a_scalar_is_left() -> None:
    found = candidates(tensors.fewer_dimensions, "import torch\ntorch.ones(2, 3)")
    assert set(found) == {
        normal("import torch\ntorch.tensor(1.0)"),
        normal("import torch\ntorch.ones(3)"),
        normal("import torch\ntorch.ones(2)"),
    }


def test_a_size_in_a_tuple_is_spelled_out() -> None:
    found = candidates(tensors.fewer_dimensions, "import torch\ntorch.ones((2, 3), dtype=int)")
    assert found[0] == normal("import torch\ntorch.ones(2, 3, dtype=int)")


def test_conversions_give_their_tensor_back() -> None:
    found = candidates(tensors.drop_conversion, "x = y.double().clone()")
    assert set(found) == {normal("x = y.double()"), normal("x = y.clone()")}


def test_a_library_function_is_no_conversion() -> None:
    assert candidates(tensors.drop_conversion, "import torch\ntorch.clone(x)") == []


def test_settings_go() -> None:
    source = (
        "import torch\ntorch.manual_seed(0)\ntorch.set_default_dtype(d)\ntorch.backends.mkldnn.enabled = False\nf()"
    )
    assert len(candidates(tensors.drop_setting, source)) == 3


def test_grad_modes_are_unwrapped() -> None:
    found = candidates(tensors.unwrap_grad_mode, "import torch\nwith torch.no_grad():\n    f()")
    assert found == [normal("import torch\nf()")]


def test_an_operation_becomes_its_operand_of_the_same_shape() -> None:
    tensor = {"k": "tensor", "shape": [2], "dtype": "float32", "levels": 0, "values": None, "fill": None}

    def fact(order: int) -> dict[str, object]:
        return {"n": 1, "same": True, "v": tensor, "o": None, "t": order}

    exprs = {"1:0:1:18:Call": fact(1), "1:0:1:11:Call": fact(2), "1:0:1:1:Name": fact(3)}
    found = candidates(tensors.operand_for_operation, "x.sigmoid().tanh()", {"lines": {"1": 1}, "exprs": exprs})
    assert set(found) == {normal("x"), normal("x.sigmoid()"), normal("x.tanh()")}


def test_a_dtype_is_spelled_as_python_does() -> None:
    found = candidates(tensors.python_dtype, "import torch\ntorch.ones(1, dtype=torch.complex64)")
    assert found == [normal("import torch\ntorch.ones(1, dtype=complex)")]


def test_an_item_is_stored_by_copy() -> None:
    assert candidates(tensors.simpler_operation, "y[0] = x") == [normal("y.copy_(x)")]


def test_a_stack_of_one_is_a_dimension_more() -> None:
    assert candidates(tensors.simpler_operation, "import torch\ny = torch.stack([f(x)])") == [
        normal("import torch\ny = f(x)[None]")
    ]
    assert candidates(tensors.simpler_operation, "import torch\ny = torch.cat([f(x)])") == [
        normal("import torch\ny = f(x)")
    ]


def test_a_number_of_a_dtype_that_numbers_have_is_written_as_one() -> None:
    for before, after in (("zeros(1, dtype=int)", "tensor(0)"), ("ones(2, dtype=torch.bool)", "tensor(True)")):
        found = candidates(tensors.fewer_dimensions, f"import torch\ntorch.{before}")
        assert normal(f"import torch\ntorch.{after}") in found


def test_a_branch_of_a_selection_becomes_a_number() -> None:
    source = (
        "import torch\ny = g(x)\ntorch.where(x > 0, x / n, y)\nx.masked_fill(m, n)\nx.where(m)\ntorch.where(m, 1, 2)"
    )
    found = candidates(selections.zero_for_branch, source)
    assert normal(source.replace("y = g(x)\n", "").replace("x / n, y", "x / n, 0")) in found
    assert normal(source.replace("x / n, y", "1, y")) in found
    assert normal(source.replace("(m, n)", "(m, 0)")) in found
    assert len(found) == 6


def test_a_square_matrix_may_be_the_identity() -> None:
    source = "import torch\nx = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)"
    assert "import torch\nx = torch.eye(2, requires_grad=True)" in candidates(tensors.plainer_tensor, source)
    for other in ("[[1.0, 2.0]]", "[1.0, 2.0]", "[[1.0]]", "[[1.0, 2.0], [3.0]]", "[[1.0, 2.0], 3.0]", "x"):
        assert not candidates(tensors.plainer_tensor, f"import torch\ny = torch.tensor({other})")

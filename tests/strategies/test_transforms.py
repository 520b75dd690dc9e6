"""Transforms: each edit is a program that a person could have written, with its imports in order."""

from __future__ import annotations

import pytest
from shrinkrepro_strategies import transformed, transforms

from tests.helpers import candidates, normal
from tests.strategies.observed import ran


def test_each_transform_of_a_composition_may_go() -> None:
    found = candidates(
        transforms.drop_transform,
        "import torch\nfrom torch.func import vmap, grad\nvmap(grad(torch.sin))(torch.ones(2))",
    )
    head = "import torch\nfrom torch.func import vmap, grad\n"
    assert normal(head + "grad(torch.sin)(torch.ones(2))") in found
    assert normal(head + "vmap(torch.sin)(torch.ones(2))") in found


def test_a_dropped_jvp_calls_its_function_on_the_primals() -> None:
    source = "import torch\nv = torch.ones(2)\nx = torch.ones(2)\ntorch.func.jvp(torch.sin, (x,), (v,))"
    assert normal("import torch\nx = torch.ones(2)\ntorch.sin(x)") in candidates(transforms.drop_transform, source)


def test_names_that_are_no_transforms_are_left_alone() -> None:
    assert candidates(transforms.drop_transform, "def grad(f):\n    return f\ngrad(print)(1)") == []


def test_a_product_with_a_tangent_may_become_one_without() -> None:
    found = candidates(transforms.smaller_transform, "import torch\ntorch.func.jvp(f, (x, y), (u, v))")
    assert found == ["import torch\ntorch.func.vjp(f, x, y)"]
    found = candidates(transforms.smaller_transform, "from torch.func import jvp\njvp(f, (x,), (u,))")
    assert found == ["from torch.func import vjp\nvjp(f, x)"]
    assert not candidates(transforms.smaller_transform, "import torch\ntorch.func.jvp(f, x, (u, v))")


def test_a_smaller_transform_takes_the_place_of_the_import() -> None:
    found = candidates(transforms.smaller_transform, "from torch.func import hessian\nhessian(f)(x)")
    assert normal("from torch.func import jacfwd\njacfwd(f)(x)") in found


def test_a_smaller_transform_never_takes_a_name_that_means_something_else() -> None:
    found = candidates(transforms.smaller_transform, "from torch.func import hessian\ngrad = 1\nhessian(f)(x)")
    assert normal("import torch\nfrom torch.func import hessian\ngrad = 1\ntorch.func.grad(f)(x)") in found


def test_jacrev_becomes_vjp() -> None:
    found = candidates(transforms.smaller_transform, "import torch\ntorch.func.jacrev(f)(x)")
    assert normal("import torch\ntorch.func.vjp(f, x)") in found


def test_an_argument_goes_with_its_parameter_and_in_dims() -> None:
    source = "import torch\nw = torch.ones(2)\ntorch.vmap(lambda x, y: x @ y, in_dims=(0, None))(torch.ones(3, 2), w)"
    found = candidates(transforms.drop_transformed_argument, source)
    assert normal("import torch\nw = torch.ones(2)\ntorch.vmap(lambda x: x @ w)(torch.ones(3, 2))") in found


def test_argnums_follow_the_argument_that_goes() -> None:
    source = "import torch\ndef f(a, b):\n    return a * b\ntorch.func.grad(f, argnums=1)(p, q)"
    found = candidates(transforms.drop_transformed_argument, source)
    assert normal("import torch\ndef f(b):\n    return p * b\ntorch.func.grad(f)(q)") in found


def test_a_jvp_input_goes_with_its_tangent() -> None:
    source = "import torch\ntorch.func.jvp(lambda x, y: x * y, (a, b), (u, v))"
    found = candidates(transforms.drop_transformed_argument, source)
    assert normal("import torch\ntorch.func.jvp(lambda x: x * b, (a,), (u,))") in found


def test_tangents_become_primals_and_their_makers_go() -> None:
    source = "import torch\nx = torch.ones(2)\nv = torch.randn(2)\ntorch.func.jvp(torch.sin, (x,), (v,))"
    found = candidates(transforms.simplify_products, source)
    assert normal("import torch\nx = torch.ones(2)\ntorch.func.jvp(torch.sin, (x,), (x,))") in found


def test_what_is_done_with_a_pullback_goes() -> None:
    found = candidates(transforms.simplify_products, "import torch\ny = torch.func.vjp(f, x)[1](torch.ones(2))")
    assert normal("import torch\ny = torch.func.vjp(f, x)") in found


def test_a_lambda_that_passes_on_is_the_function() -> None:
    found = candidates(transformed.eta_reduce, "import torch\ntorch.vmap(lambda x: torch.sin(x))(y)")
    assert found == [normal("import torch\ntorch.vmap(torch.sin)(y)")]


def test_a_function_that_takes_nothing_takes_what_the_lambda_is_given() -> None:
    own = "class F(Function):\n    @staticmethod\n    def forward({}):\n        return 0\nvmap({})(y)"
    found = candidates(transformed.eta_reduce, own.format("", "lambda x: F.apply()"))
    assert found == [normal(own.format("x", "F.apply"))]
    found = candidates(transformed.eta_reduce, own.format("ctx", "lambda x: F.apply()"))
    assert found == [normal(own.format("ctx, x", "F.apply"))]
    assert candidates(transformed.eta_reduce, own.format("", "lambda x: F.apply()") + "\nF.apply()") == []
    assert candidates(transformed.eta_reduce, "vmap(lambda x: f())(y)") == []


def test_a_def_that_passes_on_is_the_function() -> None:
    found = candidates(transformed.eta_reduce, "import torch\ndef f(x):\n    return torch.sin(x)\ntorch.vmap(f)(y)")
    assert found == [normal("import torch\ntorch.vmap(torch.sin)(y)")]


def test_the_operation_that_was_running_stands_for_the_function() -> None:
    source = "import torch\n\ndef f(x):\n    y = torch.sin(x)\n    return y.item()\ntorch.vmap(f)(torch.ones(2))"
    tensor = {"k": "tensor", "shape": [], "dtype": "float32", "grad": False, "levels": 1, "values": None, "fill": None}
    normalised = normal(source).splitlines()
    lines = {str(i + 1): 1 for i in range(len(normalised))}
    row = next(i for i, line in enumerate(normalised, 1) if "torch.sin" in line)
    call = f"{row}:8:{row}:20:Call"
    wire = {"lines": lines, "exprs": {call: {"n": 1, "same": True, "v": tensor, "o": None, "t": 1}}}
    found = candidates(transformed.function_for_transformed, source, wire)
    assert found == [normal("import torch\ntorch.vmap(float)(torch.ones(2))")]


def test_functional_options_go() -> None:
    source = "from torch.autograd.functional import jacobian\njacobian(f, x, vectorize=True)"
    assert candidates(transforms.smaller_functional, source) == [
        normal("from torch.autograd.functional import jacobian\njacobian(f, x)")
    ]


def test_a_function_that_was_never_called_becomes_an_operation() -> None:
    source = "import torch\ndef f(x, y):\n    return x\n\ntorch.vmap(f, in_dims=0)(torch.ones(2), torch.ones(3))\n"
    after = "import torch\ntorch.vmap(torch.add, in_dims=0)(torch.ones(2), torch.ones(3))\n"
    assert normal(after) in candidates(transformed.operation_for_unentered, source, ran(source))
    entered = source.replace("3))", "2))")
    assert not candidates(transformed.operation_for_unentered, entered, ran(entered))


def test_a_model_that_may_not_have_been_called_becomes_an_operation() -> None:
    source = "import torch\nmodel = torch.nn.Linear(1, 1)\ntorch.func.jvp(model, torch.ones(1), torch.ones(1))\n"
    after = "import torch\ntorch.func.jvp(torch.sin, torch.ones(1), torch.ones(1))\n"
    assert normal(after) in candidates(transformed.operation_for_unentered, source, ran(source))


@pytest.mark.parametrize("body", ["max(x, x)", "x or x", "not x", "[v for v in x if v]", "x < x < x"])
def test_what_asks_whether_a_value_is_true_is_bool(body: str) -> None:
    source = f"import torch\ntorch.vmap(lambda x: {body})(torch.ones(2))\n"
    wire = {"lines": {str(k): 1 for k in range(1, 9)}, "exprs": {}}
    after = normal("import torch\ntorch.vmap(bool)(torch.ones(2))")
    assert after in candidates(transformed.function_for_transformed, source, wire)


def test_what_a_function_calls_for_its_effect_may_stand_for_it() -> None:
    source = """
import torch
seen = []
def f(x):
    seen.append(x)
    return x
torch.vmap(f, in_dims=1)(torch.ones(2, 2))
"""
    expected = "import torch\nseen = []\ntorch.vmap(seen.append, in_dims=1, out_dims=None)(torch.ones(2, 2))"
    assert candidates(transformed.effect_for_function, source) == [normal(expected)]
    local = source.replace("    seen.append(x)", "    seen = []\n    seen.append(x)")
    assert candidates(transformed.effect_for_function, local) == []


def test_a_conversion_to_a_tensor_may_be_one_to_a_number() -> None:
    source = "import torch\ntorch.vmap(lambda x: torch.tensor([x, 1.0]))(torch.ones(2))"
    assert normal("import torch\ntorch.vmap(float)(torch.ones(2))") in candidates(
        transformed.function_for_transformed, source, ran(source)
    )

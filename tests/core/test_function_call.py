"""A function and its inputs as users name them."""

from __future__ import annotations

import pytest

from shrinkrepro.core.function_call import FunctionCall, called_as, parameters_of, read_call
from shrinkrepro.errors import UsageError

SCRIPT = """\
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x, mask=None):
        return x

def loss(params, x, *, scale=1.0):
    def inner(y):
        return y
    return inner(x)

square = lambda v: v * v
net = Net()
params = {}
if __name__ == "__main__":
    batch = torch.randn(3)
"""


def read(function: str, inputs: str | None = "x", transforms: tuple[str, ...] = ("vmap",), **more: str) -> FunctionCall:
    return read_call(SCRIPT, function, inputs, transforms, **more)


def test_inputs_are_what_stands_in_a_call() -> None:
    call = read("loss", "params, torch.randn(3, 2), scale=2")
    assert call.inputs == ("params", "torch.randn(3, 2)")
    assert call.keywords == (("scale", "2"),)
    assert call.name == "loss under vmap"


def test_dims_and_numbers() -> None:
    call = read("loss", "params, x", in_dims="None, -1", argnums="1, 0, -1", tangents="p, q")
    assert (call.in_dims, call.argnums, call.tangents) == ((None, -1), (1, 0), ("p", "q"))
    assert read("loss", "params, x", in_dims="1").in_dims == (1, 1)
    assert read("loss", "params, x", argnums="1").argnums == (1,)


@pytest.mark.parametrize(
    ("function", "names"),
    [("loss", ("params", "x")), ("net", ("x", "mask")), ("net.forward", ("x", "mask")), ("Net()", ("x", "mask")),
     ("square", ("v",)), ("lambda a, b: a", ("a", "b")), ("torch.sin", ())],
)  # fmt: skip
def test_parameters_are_found(function: str, names: tuple[str, ...]) -> None:
    assert parameters_of(SCRIPT, function) == names


def test_how_it_is_called() -> None:
    assert called_as(SCRIPT, "net") == "net(x, mask=None)"
    assert called_as(SCRIPT, "torch.sin") == ""


@pytest.mark.parametrize(
    ("function", "inputs", "more", "message", "hint"),
    [
        ("los", "x", {}, "no los", "loss"),
        ("zzz", "x", {}, "no zzz", "loss"),
        ("inner", "x", {}, "inside loss", "top level"),
        ("loss(", "x", {}, "not Python", "name of a function"),
        ("loss", None, {}, "loss(params, x, *, scale=1.0)", "'params, torch.randn(3)'"),
        ("torch.sin", None, {}, "needs --inputs", "--inputs"),
        ("loss", "x)(", {}, "--inputs", "parentheses of a call"),
        ("loss", "x, *rest", {}, "has a *", "by itself"),
        ("loss", "scale=3", {}, "no positional", "needs one"),
        ("loss", "x", {"in_dims": "x"}, "no list of dimensions", "--in-dims '0, None'"),
        ("loss", "x", {"in_dims": "True"}, "no list of dimensions", "--in-dims '0, None'"),
        ("loss", "x", {"in_dims": "0, 1"}, "2 entries for 1", "each input"),
        ("loss", "x", {"in_dims": "None"}, "maps no input", "number"),
        ("loss", "x", {"argnums": "1"}, "does not fit 1 input", "--argnums 0"),
        ("loss", "x", {"argnums": "'a'"}, "does not fit 1 input", "--argnums 0"),
    ],
)
def test_what_is_wrong_is_told(
    function: str, inputs: str | None, more: dict[str, str], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as told:
        read(function, inputs, **more)
    assert message in told.value.message
    assert hint in told.value.hint


def test_dims_need_a_vmap() -> None:
    with pytest.raises(UsageError, match="needs a vmap"):
        read("loss", "x", ("grad",), in_dims="0")


def test_a_star_import_may_bring_the_function() -> None:
    assert read_call("from model import *", "f", "x", ("vmap",)).function == "f"


def test_names_of_the_main_code_are_there() -> None:
    assert read("batch.add", "1").function == "batch.add"

"""Values: a literal takes the place of an expression together with all that fed it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from shrinkrepro_strategies import values
from shrinkrepro_strategies.descriptions import sources, tensor_sources

from shrinkrepro.core.facts import position_key
from shrinkrepro.core.program import Program
from tests.helpers import candidates, normal


def tensor(*shape: int, **others: Any) -> dict[str, Any]:
    return {"k": "tensor", "shape": list(shape), "dtype": "float32", "device": "cpu", "grad": False,
            "layout": "strided", "contiguous": True, "cls": "Tensor", "levels": 0, "values": None, "fill": None,
            **others}  # fmt: skip


def wire(source: str, seen: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Facts for the expressions of ``source`` whose text is a key of ``seen``."""
    program = Program.parse(source)
    exprs = {}
    for order, (_, node) in enumerate(program.walk(ast.expr)):
        if program.text(node) in seen and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            exprs[position_key(node)] = {"n": 1, "same": True, "v": seen[program.text(node)], "o": None, "t": order}
    return {"lines": {str(i + 1): 1 for i in range(len(program.lines))}, "exprs": exprs}


def test_a_pipeline_becomes_a_tensor() -> None:
    source = """
import torch
def load(n):
    return [n] * n
data = load(3)
data.append(4)
x = torch.tensor(data).float()
f(x)
"""
    found = candidates(values.value_for_assignment, source, wire(source, {"torch.tensor(data).float()": tensor(4)}))
    assert normal("import torch\nx = torch.ones(4)\nf(x)") in found


def test_an_argument_becomes_a_tensor() -> None:
    source = "import torch\na = torch.randn(2, 3)\nf(a @ torch.randn(3, 4))"
    found = candidates(values.value_for_argument, source, wire(source, {"a @ torch.randn(3, 4)": tensor(2, 4)}))
    assert found[0] == normal("import torch\nf(torch.ones(2, 4))")


def test_a_variable_that_fits_takes_an_arguments_place() -> None:
    source = normal("y = load()\nx = make()\nprint(x, y)\nvmap(f)(state(models))\nz = make()\nprint(z)")
    seen = {"state(models)": {"k": "dict", "items": [[{"k": "const", "r": "'w'"}, tensor(3, 2)]]}}
    facts = wire(source, {**seen, "x": tensor(3), "y": tensor(3, 2), "z": tensor(2)})
    found = candidates(values.variable_for_argument, source, facts)
    assert found[:2] == [source.replace("state(models)", "y"), source.replace("state(models)", "x")]
    assert not any("vmap(f)(z)" in text for text in found)


def test_numbers_become_one_where_a_check_failed() -> None:
    source = normal("size, ell = 3, 0.8\nnu = 1.0\nrate = 0.1\nassert f(ell) == 2 / ell ** 2")
    failed = {"f(ell) == 2 / ell ** 2": {"k": "const", "r": "False"}}
    assert candidates(values.one_for_number, source, wire(source, failed)) == [
        normal("size, ell = 3, 1\nnu = 1.0\nrate = 1\nassert f(ell) == 2 / ell ** 2"),
        normal("size, ell = 3, 1\nnu = 1.0\nrate = 0.1\nassert f(ell) == 2 / ell ** 2"),
        normal("size, ell = 3, 0.8\nnu = 1.0\nrate = 1\nassert f(ell) == 2 / ell ** 2"),
    ]
    assert candidates(values.one_for_number, source, wire(source, {})) == []


def test_an_attribute_becomes_a_tensor_and_its_entry_goes() -> None:
    source = """
import torch
class M(torch.nn.Module):
    def __init__(self, c):
        self.centres = c
    def forward(self, x):
        return x - self.centres
torch.func.functional_call(M(), {'net.centres': c, 'scale': s}, x)
"""
    found = candidates(values.value_for_attribute, source, wire(source, {"self.centres": tensor(4, 1)}))
    assert found == [
        normal("""
import torch
class M(torch.nn.Module):
    def __init__(self, c):
        pass
    def forward(self, x):
        return x - torch.ones(4, 1)
torch.func.functional_call(M(), {'scale': s}, x)
""")
    ]


def test_a_constant_stands_for_what_gave_it() -> None:
    source = "x = cfg.width * 2"
    found = candidates(
        values.constant_for_expression, source, wire(source, {"cfg.width * 2": {"k": "const", "r": "16"}})
    )
    assert found == [normal("x = 16")]


def test_a_variable_that_never_varies_goes() -> None:
    source = "n = len(data)\nf(n, n)"
    found = candidates(values.constant_for_name, source, wire(source, {"n": {"k": "const", "r": "3"}}))
    assert found == [normal("f(3, 3)")]


def test_unpacked_values_are_assigned_one_by_one() -> None:
    source = "import torch\nx, y, z = big()\nf(x, z)"
    found = candidates(
        values.value_for_assignment, source, wire(source, {"x": tensor(2), "z": {"k": "const", "r": "3"}})
    )
    assert found == [normal("import torch\nx = torch.ones(2)\nz = 3\nf(x, z)")]


def test_an_attribute_that_is_loaded_no_more_goes() -> None:
    source = """
import torch
class A:
    def __init__(self):
        self.data = make()
    def run(self):
        x = self.data.sum(0)
        return f(x)
"""
    found = candidates(values.value_for_assignment, source, wire(source, {"self.data.sum(0)": tensor(2)}))
    assert all("make" not in text for text in found)


def test_nothing_is_known_without_facts() -> None:
    assert candidates(values.value_for_assignment, "x = f(y)") == []


def test_properties_of_a_tensor_are_kept() -> None:
    assert (
        tensor_sources(tensor(2, 3, dtype="float64", grad=True))[0]
        == "torch.ones(2, 3, dtype=float, requires_grad=True)"
    )
    assert tensor_sources(tensor(2, 2, layout="sparse_csr"))[0] == "torch.ones(2, 2).to_sparse_csr()"
    assert tensor_sources(tensor(dtype="int64", values=[3]))[0] == "torch.tensor(3)"
    assert tensor_sources(tensor(2, dtype="int64", values=[3, 4]))[0] == "torch.tensor([3, 4])"
    assert tensor_sources(tensor(1, device="cuda:0"))[0] == "torch.ones(1, device='cuda')"


LEAVES = st.one_of(
    st.builds(
        lambda shape, dtype, fill: tensor(*shape, dtype=dtype, fill=fill),
        st.lists(st.integers(0, 5), max_size=3),
        st.sampled_from(["float32", "float64", "int64", "bool", "complex64", "bfloat16"]),
        st.sampled_from([None, 0, 1]),
    ),
    st.integers().map(lambda n: {"k": "const", "r": repr(n)}),
)


@given(
    st.recursive(
        LEAVES,
        lambda inner: st.builds(
            lambda items, t: {"k": "seq", "t": t, "items": items},
            st.lists(inner, max_size=4),
            st.sampled_from(["tuple", "list"]),
        ),
        max_leaves=6,
    )
)
def test_every_spelling_is_an_expression(value: Mapping[str, Any]) -> None:
    found = sources(value)
    assert found
    for text in found:
        ast.parse(text, mode="eval")

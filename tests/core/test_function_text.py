"""The call and its reference as text: what is written, that it parses, and that it is right on healthy functions."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkrepro.core.function_call import FunctionCall, read_call
from shrinkrepro.core.function_text import Observed, function_block
from shrinkrepro.core.function_values import ItemsValue, OtherValue, TensorValue, Value
from shrinkrepro.core.transform_spec import NAMES, TRIED
from shrinkrepro.errors import UsageError

SCRIPT = """\
import torch

def f(x, t):
    return x.sin() * t

x = torch.randn(3)
t = torch.randn(3)
"""


def block(inputs: str, values: tuple[Value, ...], output: Value, *transforms: str, **more: Any) -> str:
    changes = more.pop("changes", False)
    call = read_call(SCRIPT, "f", inputs, transforms, **more)
    return function_block(SCRIPT, call, Observed(values, output, changes)).text


def tensor(*shape: int, dtype: str = "float32") -> TensorValue:
    return TensorValue(shape, dtype)


GOLDEN = {
    "vmap": (
        block("x, t", (tensor(3), tensor(3)), tensor(), "vmap"),
        """\
        actual = torch.func.vmap(f)(x, t)
        expected = torch.stack([f(x_row, t_row) for x_row, t_row in zip(x, t)])
        """,
    ),
    "vmap of one": (
        block("x, 2.0", (tensor(3), OtherValue("float")), tensor(), "vmap"),
        """\
        def call(x):
            return f(x, 2.0)
        actual = torch.func.vmap(call)(x)
        expected = torch.stack([call(row) for row in x])
        """,
    ),
    "in_dims": (
        block("x, t", (tensor(2, 3), tensor(2)), tensor(2), "vmap", in_dims="1, None"),
        """\
        actual = torch.func.vmap(f, in_dims=(1, None))(x, t)
        expected = torch.stack([f(row, t) for row in x.unbind(1)])
        """,
    ),
    "grad": (
        block("x, t", (tensor(), tensor()), tensor(), "grad", argnums="1"),
        """\
        actual = torch.func.grad(f, argnums=1)(x, t)
        expected = torch.autograd.functional.jacobian(lambda t: f(x, t), t)
        """,
    ),
    "jvp": (
        block("x, t", (tensor(3), tensor(3)), tensor(3), "jvp", argnums="0"),
        """\
        tangent = torch.randn_like(x)
        actual = torch.func.jvp(lambda x: f(x, t), (x,), (tangent,))[1]
        expected = torch.autograd.functional.jacobian(lambda x: f(x, t), x) @ tangent
        """,
    ),
    "vjp": (
        block("x, t", (tensor(3), tensor(3)), tensor(3), "vjp"),
        """\
        cotangent = torch.randn_like(f(x, t))
        actual = torch.func.vjp(f, x, t)[1](cotangent)
        expected = torch.autograd.functional.vjp(f, (x, t), cotangent)[1]
        """,
    ),
    "vmap(hessian)": (
        block("x, t", (tensor(3), tensor(3)), tensor(), "vmap", "hessian", argnums="0"),
        """\
        def hessian_reference(x, t):
            return torch.autograd.functional.hessian(lambda x: f(x, t), x)
        actual = torch.func.vmap(torch.func.hessian(f))(x, t)
        expected = torch.stack([hessian_reference(x_row, t_row) for x_row, t_row in zip(x, t)])
        """,
    ),
    "jacfwd(grad)": (
        block("x, t", (tensor(3), tensor(3)), tensor(), "jacfwd", "grad", argnums="0"),
        """\
        def grad_reference(x, t):
            return torch.autograd.functional.jacobian(lambda x: f(x, t), x, create_graph=True)
        actual = torch.func.jacfwd(torch.func.grad(f))(x, t)
        expected = torch.autograd.functional.jacobian(lambda x: grad_reference(x, t), x)
        """,
    ),
    "an input in a container": (
        block("{'a': x, 'b': 2}, t", (ItemsValue("dict", (("a", tensor()), ("b", OtherValue("int")))), tensor()),
              ItemsValue("dict", (("loss", tensor()), ("n", tensor(dtype="int64")))), "grad"),
        """\
        x_2 = {'a': x, 'b': 2}
        a = x_2['a']
        def call(a, t):
            result = f({'a': a, 'b': x_2['b']}, t)
            return result['loss']
        actual = torch.func.grad(call)(a, t)
        expected = torch.autograd.functional.jacobian(lambda a: call(a, t), a)
        """,
    ),
    "an input that is written to": (
        block("x, t", (tensor(3), tensor(3)), tensor(), "vmap", changes=True),
        """\
        def unchanged(x, t):
            return f(x.clone(), t.clone())
        expected = torch.stack([unchanged(x_row, t_row) for x_row, t_row in zip(x, t)])
        actual = torch.func.vmap(f)(x, t)
        """,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_what_is_written(name: str) -> None:
    text, wanted = GOLDEN[name]
    assert text == textwrap.dedent(wanted) + "torch.testing.assert_close(actual, expected, equal_nan=True)"


def test_the_call_alone() -> None:
    call = read_call(SCRIPT, "f", "x, t", ("vmap",))
    made = function_block(SCRIPT, call, Observed((tensor(3), tensor(3)), tensor()), compared=False)
    assert made.text.splitlines()[made.call :] == ["actual = torch.func.vmap(f)(x, t)"]


@pytest.mark.parametrize(
    ("values", "output", "transforms", "more", "message"),
    [
        ((tensor(3), tensor(3)), tensor(3), ("grad",), {}, "grad needs one number"),
        ((tensor(3), tensor(3)), tensor(), ("grad", "grad"), {}, "grad needs one number"),
        ((tensor(3), tensor(3)), tensor(dtype="int64"), ("jvp",), {}, "an int64 tensor"),
        ((tensor(3, dtype="int64"),) * 2, tensor(3), ("jvp",), {}, "no floating-point tensor"),
        ((tensor(3), tensor(3, dtype="int64")), tensor(3), ("jvp",), {"argnums": "1"}, "no floating-point tensor"),
        ((OtherValue("int"), OtherValue("int")), tensor(3), ("vmap",), {}, "no tensor among the inputs"),
        ((tensor(3), tensor(3)), OtherValue("NoneType"), ("vmap",), {}, "gives None"),
        ((tensor(3), tensor(2)), tensor(), ("vmap",), {}, "x has 3, t has 2"),
        ((tensor(), tensor()), tensor(), ("vmap",), {}, "no input has a dimension"),
        ((tensor(3), tensor()), tensor(), ("vmap",), {"in_dims": "0, 0"}, "no dimension 0"),
        ((tensor(3), tensor(3)), tensor(3), ("jvp",), {"tangents": "x"}, "differentiates by 2: x, t"),
        ((tensor(3), tensor(3)), ItemsValue("tuple", ((0, tensor()), (1, tensor()))), ("hessian",),
         {"argnums": "0, 1"}, "several results and several inputs"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(
    values: tuple[Value, ...], output: Value, transforms: tuple[str, ...], more: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as told:
        block("x, t", values, output, *transforms, **more)
    assert message in told.value.message
    assert told.value.hint


values = st.recursive(
    st.builds(
        TensorValue,
        st.lists(st.integers(1, 3), max_size=3).map(tuple),
        st.sampled_from(["float32", "float64", "int64", "bool", "complex64"]),
    )
    | st.just(OtherValue("int")),
    lambda inner: st.builds(
        lambda kind, items: ItemsValue(
            kind, tuple((f"k.{i}" if kind == "dict" else i, item) for i, item in enumerate(items))
        ),
        st.sampled_from(["tuple", "list", "dict"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=4,
)


@given(values, values, values, st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), st.booleans())
def test_whatever_is_drawn_parses_or_is_told(
    first: Value, second: Value, output: Value, transforms: list[str], compared: bool
) -> None:
    call = FunctionCall("f", ("x", "t"), tuple(transforms))
    try:
        made = function_block(SCRIPT, call, Observed((first, second), output), compared=compared)
    except UsageError:
        return
    tree = ast.parse(made.text)
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    assert not bound & {"f", "x", "t"}  # the script's own names are left alone
    assert made.text.splitlines()[made.call].startswith("actual = ")
    assert made.check == len(made.text.splitlines()) - 1


FUNCTIONS = {  # function, its positional inputs
    "scalar": ("lambda x, t: (x.sin() * t).sum()", "x, t"),
    "vector": ("lambda x, t: x.sin() * t.cumsum(-1)", "x, t"),
    "linear": ("lambda x: 3 * x", "x"),
    "constant": ("lambda x: torch.ones(2, dtype=x.dtype)", "x"),
    "several": ("lambda x, t: (x.exp(), (x * t).sum())", "x, t"),
    "tree": ("lambda p, x: {'a': p['w'] * x, 'b': [x.cos().sum()]}", "{'w': t}, x"),
}


@pytest.mark.torch
@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.sampled_from(TRIED),  # what nobody tries torch gets wrong at times: functionalize(functionalize), for one
    st.sampled_from([None, "0", "0, 1"]),
    st.sampled_from([(3, 2, 2), (2, 3)]),
)
def test_it_passes_on_healthy_functions(
    name: str, transforms: tuple[str, ...], argnums: str | None, shape: tuple[int, ...]
) -> None:
    torch = pytest.importorskip("torch")
    function, inputs = FUNCTIONS[name]
    if argnums == "0, 1" and "t" not in inputs:
        argnums = None
    script = f"import torch\nf = {function}\n"
    script += "".join(f"{v} = torch.linspace({a}, 1, {12 if len(shape) == 3 else 6}).double().reshape({shape})\n"
                      for v, a in (("x", 0.1), ("t", -1)))  # fmt: skip
    space: dict[str, Any] = {}
    exec(script, space)
    given_inputs = eval(f"({inputs},)", space)
    samples = list(given_inputs)
    for _ in range(min(transforms.count("vmap"), len(shape))):
        samples = [sliced(torch, sample) for sample in samples]
    output = space["f"](*samples)
    call = read_call(script, "f", inputs, transforms, argnums=argnums)
    try:
        made = function_block(script, call, Observed(tuple(map(described, given_inputs)), described(output)))
    except UsageError:
        return
    exec(script + made.text, {})


def sliced(torch: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sliced(torch, item) for key, item in value.items()}
    return value[0] if value.dim() else value


def described(value: Any) -> Value:
    if isinstance(value, dict):
        return ItemsValue("dict", tuple((key, described(item)) for key, item in value.items()))
    if isinstance(value, tuple | list):
        return ItemsValue(type(value).__name__, tuple((i, described(item)) for i, item in enumerate(value)))
    return TensorValue(tuple(value.shape), str(value.dtype)[6:])

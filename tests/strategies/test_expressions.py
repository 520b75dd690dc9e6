"""Expressions: what each strategy proposes for small programs."""

from __future__ import annotations

import pytest
from shrinkrepro_strategies import expressions

from tests.helpers import candidates, normal
from tests.strategies.observed import const, ran, tensor

Wired = dict[str, dict[str, object]]


def test_a_part_of_the_same_shape_for_the_whole() -> None:
    source = "y = torch.tanh(f(x) @ w)"
    values: Wired = {"torch.tanh(f(x) @ w)": tensor(2, 3), "f(x) @ w": tensor(2, 3), "f(x)": tensor(2, 4)}
    values |= {"x": tensor(2, 3), "w": tensor(4, 3)}
    assert candidates(expressions.hoist_alike, source, ran(source, values)) == [
        "y = x",
        "y = f(x) @ w",
        "y = torch.tanh(x)",
    ]


def test_a_tensor_of_another_dtype_is_not_alike() -> None:
    source = "y = f(x)"
    values: Wired = {"f(x)": tensor(2), "x": tensor(2, dtype="int64")}
    assert candidates(expressions.hoist_alike, source, ran(source, values)) == []


def test_a_constant_stands_for_a_number() -> None:
    source = "n = max(k, 3)"
    assert candidates(expressions.hoist_alike, source, ran(source, {"max(k, 3)": const(4)})) == ["n = 3"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = f(x, k=2)", ["y = x", "y = 2"]),
        ("y = a + b", ["y = a", "y = b"]),
        ("y = x.t()", ["y = x"]),
        ("y = x[0]", ["y = x", "y = 0"]),
        ("y = x.shape", ["y = x"]),
        ("y = (a, b)", ["y = a", "y = b"]),
        ("y = -x", ["y = x"]),
        ("y = a == b", ["y = a", "y = b"]),
        ("y = [f(x) for x in xs]", ["y = xs", "y = [x for x in xs]"]),
        ("y = lambda: z", ["y = z"]),
        ("y = grad(f)(x)", ["y = x", "y = grad(f)", "y = f(x)"]),
        ("import m\ny = m.f(x)", ["import m\ny = x"]),
        ("f(x)", []),
        ("f(g(x))", ["g(x)", "f(x)"]),
    ],
)
def test_a_part_for_the_whole(before: str, after: list[str]) -> None:
    assert candidates(expressions.hoist_part, before) == [normal(text) for text in after]


def test_arguments_go() -> None:
    source = "f(a, b, k=c)"
    assert candidates(expressions.drop_argument, source) == ["f(a, b)", "f(a, k=c)", "f(b, k=c)"]
    assert candidates(expressions.drop_all_arguments, source) == ["f()"]


def test_arguments_of_an_own_function_go_from_the_end_only() -> None:
    source = "def f(a, b):\n    pass\nf(1, 2)"
    assert candidates(expressions.drop_argument, source) == [normal("def f(a, b):\n    pass\nf(1)")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = [a, b]", ["y = [a]", "y = [b]"]),
        ("y = {a: b, c: d}", ["y = {a: b}", "y = {c: d}"]),
        ("y = a and b", ["y = a", "y = b"]),
        ("y = a < b < c", ["y = a < b", "y = a < c"]),
        ("y = [a, b, c]", ["y = [a]", "y = [a, b]", "y = [a, c]", "y = [b, c]"]),
    ],
)
def test_elements_go(before: str, after: list[str]) -> None:
    assert candidates(expressions.drop_element, before) == after


def test_bounds_of_a_slice_go() -> None:
    assert candidates(expressions.drop_index, "x[a:b, ::c]") == ["x[:b, ::c]", "x[a:, ::c]", "x[a:b, :]"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = y = f()", ["y = f()", "x = f()"]),
        ("a, b = c, d", ["b = d", "a = c"]),
        ("a, b = f()\ng(a)", ["a = f()\ng(a)", "a = f()[0]\ng(a)"]),
        ("a, b = f()\ng(b)", ["b = f()\ng(b)", "b = f()[1]\ng(b)"]),
        ("a, b = f()\ng(a, b)", []),
    ],
)
def test_fewer_names_are_bound(before: str, after: list[str]) -> None:
    assert candidates(expressions.drop_target, before) == [normal(text) for text in after]


def test_a_function_for_a_lambda_that_calls_it() -> None:
    assert candidates(expressions.drop_lambda, "y = map(lambda x: f(x))") == ["y = map(f)"]
    assert "import torch\ny = map(torch.sin)" in candidates(expressions.drop_lambda, "y = map(lambda x: x.sin())")


def test_text_becomes_empty() -> None:
    assert candidates(expressions.blank_text, "f(f'{a} b')") == ["f('')", "f(f' b')", "f(f'{a}')"]
    source = "f(name)"
    assert candidates(expressions.blank_text, "f(g(name))", ran(source)) == []
    assert candidates(expressions.blank_text, "f(g(1))", ran("f(g(1))", {"g(1)": const("text")})) == ["f('')"]


def test_a_second_name_goes() -> None:
    assert candidates(expressions.same_name, "a = b\nf(a, a)") == ["f(b, b)"]

"""Functions and their calls, before and after."""

from __future__ import annotations

from shrinkrepro_strategies.functions import (
    drop_parameter,
    drop_returned_part,
    drop_unused_arguments,
    function_to_lambda,
    parameter_to_value,
)

from tests.helpers import candidates, normal


def test_an_unread_parameter_goes_with_its_arguments() -> None:
    source = "def f(a, b, c=1):\n    return a\nf(1, 2)\nf(1, b=3)"
    assert normal("def f(a, c=1):\n    return a\nf(1)\nf(1)") in candidates(drop_parameter, source)


def test_all_unread_parameters_at_once() -> None:
    source = "def f(a, b, c=1):\n    return a\nf(1, 2, c=3)"
    assert candidates(drop_unused_arguments, source) == [normal("def f(a):\n    return a\nf(1)")]


def test_a_constructor_is_a_call_of_its_initialiser() -> None:
    source = "class C:\n    def __init__(self, a, b):\n        self.a = a\nC(1, 2)"
    expected = "class C:\n    def __init__(self, a):\n        self.a = a\nC(1)"
    assert candidates(drop_parameter, source) == [normal(expected)]


def test_a_parameter_goes_through_transforms() -> None:
    head = "from torch.func import vmap, grad, jvp\n"
    source = head + "def f(x, y):\n    return x\nvmap(grad(f), in_dims=(0, None))(a, b)"
    expected = head + "def f(x):\n    return x\nvmap(grad(f), in_dims=(0,))(a)"
    assert candidates(drop_parameter, source) == [normal(expected)]
    source = head + "def f(x, y):\n    return x\njvp(f, (a, b), (c, d))"
    assert candidates(drop_parameter, source) == [normal(head + "def f(x):\n    return x\njvp(f, (a,), (c,))")]


def test_a_transformed_function_keeps_its_last_parameter() -> None:
    head = "from torch.func import vjp\n"
    assert candidates(drop_parameter, head + "def f(x):\n    return 1\nvjp(f, a)") == []


def test_a_function_that_is_passed_on_keeps_its_parameters() -> None:
    assert candidates(drop_parameter, "def f(a, b):\n    return a\nf(1, 2)\nregister(f)") == []


def test_the_one_value_of_a_parameter() -> None:
    source = "def f(a, n):\n    return a * n\nf(1, 3)\nf(2, 3)"
    assert normal("def f(a):\n    return a * 3\nf(1)\nf(2)") in candidates(parameter_to_value, source)


def test_a_default_that_nothing_overrides() -> None:
    source = "def f(a, n=3):\n    return a * n\nf(g)"
    assert normal("def f(a):\n    return a * 3\nf(g)") in candidates(parameter_to_value, source)


def test_a_variable_of_the_module_under_the_parameters_own_name() -> None:
    source = "m = g()\ndef f(m):\n    return m + m\nf(m)"
    assert candidates(parameter_to_value, source) == [normal("m = g()\ndef f():\n    return m + m\nf()")]


def test_a_variable_of_the_module_that_parameters_hand_on() -> None:
    source = "m = g()\ndef f(a):\n    return a + a\ndef h(m):\n    return f(m) + m\nh(m)\nf(m)"
    expected = "m = g()\ndef f():\n    return m + m\ndef h(m):\n    return f() + m\nh(m)\nf()"
    assert normal(expected) in candidates(parameter_to_value, source)


def test_a_local_name_of_the_caller_does_not_go_inside() -> None:
    source = "def f(a):\n    return a + a\ndef g(x):\n    return f(x)\nh(g)"
    assert all("x + x" not in text for text in candidates(parameter_to_value, source))


def test_a_seen_constant_becomes_the_parameter() -> None:
    source = normal("def f(n):\n    return n\ndef g(x):\n    return f(x.n)\nh(g)")
    fact = {"n": 1, "same": True, "v": {"k": "const", "r": "8"}, "t": 0}
    wire = {"lines": {"2": 1}, "exprs": {"2:11:2:12:Name": fact}}
    assert normal("def f():\n    return 8\ndef g(x):\n    return f()\nh(g)") in candidates(
        parameter_to_value, source, wire
    )


def test_a_function_that_is_passed_once_becomes_a_lambda() -> None:
    assert candidates(function_to_lambda, "def f(x: int) -> int:\n    return x + 1\nvmap(f)(a)") == [
        normal("vmap(lambda x: x + 1)(a)")
    ]


def test_a_method_that_is_passed_once_becomes_a_lambda() -> None:
    source = "class C:\n    def f(self, x):\n        return self.w * x\nc = C()\nvmap(c.f)(a)"
    assert candidates(function_to_lambda, source) == [normal("class C:\n    pass\nc = C()\nvmap(lambda x: c.w * x)(a)")]


def test_a_returned_part_that_is_not_read() -> None:
    source = "def f(x):\n    return x, 1\na, _ = f(2)\nb = f(3)[0]\nprint(a, b)"
    expected = "def f(x):\n    return x\na = f(2)\nb = f(3)\nprint(a, b)"
    assert candidates(drop_returned_part, source) == [normal(expected)]


def test_a_returned_part_that_is_read_stays() -> None:
    assert candidates(drop_returned_part, "def f(x):\n    return x, 1\na, b = f(2)\nprint(a, b)") == []


def test_a_default_that_a_lambda_does_not_read_goes() -> None:
    found = candidates(drop_parameter, "grad(lambda x, y=0, z=1: x * z)(a)")
    assert found == [normal("grad(lambda x, z=1: x * z)(a)")]

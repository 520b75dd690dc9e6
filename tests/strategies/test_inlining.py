"""Inlining: before and after on tiny programs."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shrinkrepro_strategies.inlining import (
    STRATEGIES,
    apply_partial,
    inline_all_calls,
    inline_call,
    inline_call_copy,
    inline_generator,
    inline_property,
)
from shrinkrepro_strategies.variables import inline_variable

from tests.helpers import candidates, normal


def test_a_variable_that_is_read_once() -> None:
    assert candidates(inline_variable, "x = f(1)\ng(x)") == [normal("g(f(1))")]


def test_a_plain_value_goes_to_every_read() -> None:
    assert candidates(inline_variable, "x = a.b\ng(x, x)") == [normal("g(a.b, a.b)")]


def test_a_call_is_not_repeated() -> None:
    assert candidates(inline_variable, "x = f(1)\ng(x, x)") == []


def test_each_of_several_assignments_up_to_the_next() -> None:
    found = candidates(inline_variable, "def f(x):\n    h = a(x)\n    h = b(h)\n    return c(h)")
    assert normal("def f(x):\n    h = b(a(x))\n    return c(h)") in found
    assert normal("def f(x):\n    h = a(x)\n    return c(b(h))") in found


def test_an_assignment_in_a_branch_stops_it() -> None:
    assert candidates(inline_variable, "h = a()\nif c:\n    h = b()\ng(h)") == []


def test_one_of_several_targets() -> None:
    assert candidates(inline_variable, "a, b = f()\ng(b)") == [normal("g(f()[1])")]
    assert normal("b = 2\ng(1, b)") in candidates(inline_variable, "a, b = (1, 2)\ng(a, b)")


def test_a_call_whose_function_only_returns() -> None:
    assert candidates(inline_call, "def f(a, b=2):\n    return a * b\nx = f(y)") == [normal("x = y * 2")]


def test_statements_go_before_the_call() -> None:
    source = "def f(a):\n    b = a + 1\n    return b * 2\nb = 1\nprint(f(b))"
    assert candidates(inline_call, source) == [normal("b = 1\nb1 = b + 1\nprint(b1 * 2)")]


def test_main_dissolves() -> None:
    source = "def main():\n    x = 1\n    print(x)\nif __name__ == '__main__':\n    main()"
    assert candidates(inline_call, source) == [normal("if __name__ == '__main__':\n    x = 1\n    print(x)")]


def test_early_returns_become_branches() -> None:
    source = "def f(a):\n    if a > 0:\n        return 1\n    return 2\nx = f(y)"
    expected = "if y > 0:\n    result = 1\nelse:\n    result = 2\nx = result"
    assert candidates(inline_call, source) == [normal(expected)]


def test_a_tail_call_keeps_its_returns() -> None:
    source = "def f(a):\n    if a:\n        return 1\n    return 2\ndef g(b):\n    return f(b)\nh(g)"
    assert candidates(inline_call, source) == [normal("def g(b):\n    if b:\n        return 1\n    return 2\nh(g)")]


def test_a_method_becomes_its_body() -> None:
    source = "class C:\n    def f(self, a):\n        return self.w * a\nc = C()\nx = c.f(3)"
    assert candidates(inline_call, source) == [normal("class C:\n    pass\nc = C()\nx = c.w * 3")]


def test_a_lambda_is_applied() -> None:
    assert candidates(inline_call, "x = (lambda a: a + 1)(2)") == [normal("x = 2 + 1")]


def test_inner_names_do_not_capture_arguments() -> None:
    source = "def f(a):\n    return [a + i for i in range(3)]\ndef g(i):\n    return f(i) + 1\nh(g)"
    (text,) = candidates(inline_call, source)
    assert "[i + i1 for i1 in range(3)]" in text


def test_nothing_is_hoisted_out_of_a_lambda() -> None:
    assert candidates(inline_call, "def f(a):\n    b = a\n    return b + b\ng(lambda x: f(x))") == []


def test_all_calls_of_a_small_function() -> None:
    assert candidates(inline_all_calls, "def f(a):\n    return a + 1\ng(f(1), f(2))") == [normal("g(1 + 1, 2 + 1)")]


def test_a_copy_where_the_function_stays() -> None:
    found = candidates(inline_call_copy, "def f(a):\n    return a + 1\nx = f(1)\ny = f(2)")
    assert normal("def f(a):\n    return a + 1\nx = 1 + 1\ny = f(2)") in found


def test_a_property_becomes_its_value() -> None:
    source = "class C:\n    @property\n    def n(self):\n        return 2 * self.m\nc = C()\nprint(c.n)"
    assert candidates(inline_property, source) == [normal("class C:\n    pass\nc = C()\nprint(2 * c.m)")]


def test_a_generator_becomes_its_loop() -> None:
    source = "def g(n):\n    for i in range(n):\n        yield i * 2\nfor x in g(3):\n    print(x)"
    assert candidates(inline_generator, source) == [normal("for i in range(3):\n    x = i * 2\n    print(x)")]


def test_partials() -> None:
    assert candidates(apply_partial, "partial(f, 1, b=2)(3)") == [normal("f(1, 3, b=2)")]
    assert candidates(apply_partial, "g(functools.partial(f, 1))") == [normal("g(f)")]
    assert candidates(apply_partial, "g(partial(lambda a, b, c=0: a * b + c, 2))") == [
        normal("g(lambda b, c=0: 2 * b + c)")
    ]
    assert candidates(apply_partial, "g(partial(lambda a, b=1, *, k=2: a * b * k, b=x, k=3))") == [
        normal("g(lambda a: a * x * 3)")
    ]
    assert candidates(apply_partial, "g(partial(lambda a, b: a * a * b, h()))") == [normal("g(lambda a, b: a * a * b)")]


_NAMES = st.sampled_from(["a", "b", "x", "y"])
_EXPRESSIONS = st.one_of(_NAMES, st.builds("{} + {}".format, _NAMES, _NAMES), st.builds("f({})".format, _NAMES))
_LINES = st.lists(st.builds("{} = {}".format, _NAMES, _EXPRESSIONS), min_size=1, max_size=4)


@settings(deadline=None, max_examples=60)
@given(body=_LINES, result=_EXPRESSIONS, rest=_LINES)
def test_every_candidate_is_a_program_and_the_same_again(body: list[str], result: str, rest: list[str]) -> None:
    inner = "\n".join(f"    {line}" for line in body)
    source = f"def f(a, b=1):\n    x = a\n{inner}\n    return {result}\n" + "\n".join(rest)
    for strategy in STRATEGIES:
        texts = candidates(strategy, source)
        assert texts == candidates(strategy, source)
        for text in texts:
            ast.parse(text)


@pytest.mark.parametrize("value", [-2, 0, 3])
def test_an_inlined_call_computes_the_same(value: int) -> None:
    source = (
        "def f(a, k=2):\n    t = a * k\n    if t > 1:\n        return t\n    t = t - 1\n    return t\n"
        f"t = {value}\nout = f(t) + t"
    )
    (text,) = candidates(inline_call, source)
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    exec(source, before)
    exec(text, after)
    assert before["out"] == after["out"]


def test_what_a_starred_argument_gives_is_looked_up_where_nothing_can_be_unpacked() -> None:
    source = "def f(x, y):\n    return y[y < 0]\nvmap(lambda x: f(*x))(z)"
    assert normal("vmap(lambda x: x[1][x[1] < 0])(z)") in candidates(inline_call, source)

"""Literals: what each strategy proposes for small programs."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st
from shrinkrepro_strategies import literals

from tests.helpers import candidates, normal


def test_equal_numbers_change_together_and_then_alone() -> None:
    found = candidates(literals.plainer_integer, "f(5, 5)\ng(True, 0)")
    assert found[0] == "f(1, 1)\ng(True, 0)"
    assert "f(5, 2)\ng(True, 0)" in found
    assert all("g(True, 0)" in text for text in found)


@given(st.integers())
def test_plainer_integers_are_smaller(value: int) -> None:
    assert all(abs(int(text)) < abs(value) for text in literals.plainer_integers(value))


@given(st.floats())
def test_plainer_floats_are_numbers_and_never_the_same(value: float) -> None:
    texts = literals.plainer_floats(value)
    assert repr(value) not in texts
    assert all(isinstance(ast.literal_eval(text), float | int) for text in texts)


def test_floats() -> None:
    assert candidates(literals.plainer_float, "f(0.05)")[:3] == ["f(1.0)", "f(0.0)", "f(2.0)"]


def test_texts_that_must_agree_get_one_letter() -> None:
    source = "d = {'weight': 1}\nf(d['weight'])"
    assert "d = {'a': 1}\nf(d['a'])" in candidates(literals.plainer_text, source)


def test_long_data_gets_short() -> None:
    assert candidates(literals.shorten_data, "x = [1, 2, 3, 4, 5, 6]") == [
        "x = [1]",
        "x = [1, 2]",
        "x = [1, 2, 3]",
        "x = [4, 5, 6]",
    ]
    assert candidates(literals.shorten_data, f"x = {'a' * 50!r}") == ["x = 'a'", f"x = {'a' * 25!r}"]


def test_an_fstring_of_literals_is_a_text() -> None:
    assert candidates(literals.fold_text, "f(f'{\"a\"}::b{1}')") == [normal("f('a::b1')")]
    assert candidates(literals.fold_text, "f(f'{x}', f'{1!r}', f'{1:3}')") == []


def test_large_integers_become_far_larger_ones() -> None:
    far = str(1 << 40)
    found = candidates(literals.larger_integer, "f(2147483647, 7, 2147483647)")
    assert found == [f"f({far}, 7, {far})"]
    assert candidates(literals.larger_integer, f"f(7, {far})") == []

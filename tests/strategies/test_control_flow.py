"""Control flow: what each strategy proposes for small programs."""

from __future__ import annotations

import pytest
from shrinkrepro_strategies import control_flow

from tests.helpers import candidates, normal
from tests.strategies.observed import const, ran, seq


def test_every_branch_becomes_the_side_that_was_taken() -> None:
    source = """
def f(x):
    if x > 1:
        a = 1
    elif x > 0:
        a = 2
    else:
        a = 3
    return a
if __name__ == '__main__':
    try:
        f(1)
    finally:
        f(0.5)
"""
    deep, plain = candidates(control_flow.straighten_branches, source, ran(source))
    assert deep == normal("def f(x):\n    a = 2\n    return a\nf(1)\nf(0.5)")
    assert plain == normal("def f(x):\n    a = 2\n    return a\ntry:\n    f(1)\nfinally:\n    f(0.5)")


def test_a_branch_that_was_taken_both_ways_stays() -> None:
    source = "for x in (0, 1):\n    if x:\n        y = 1\n    else:\n        y = 2"
    assert candidates(control_flow.straighten_branches, source, ran(source)) in ([], [normal(source)] * 2)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if a:\n    b", ["b"]),
        ("if a:\n    b\nelse:\n    c", ["b", "c"]),
        ("for x in y:\n    f()\n    if z:\n        break\n    g()", ["f()\ng()"]),
        ("while a:\n    f()\n    continue\n    g()", ["f()"]),
        ("with a, b:\n    c", ["c"]),
        ("with a as b:\n    c", ["c", "b = a\nc"]),
        ("try:\n    a\nexcept E:\n    b\nfinally:\n    c", ["a\nc", "a", "b", "c"]),
        ("match a:\n    case 1:\n        b\n    case _:\n        c", ["b", "c"]),
    ],
)
def test_a_body_for_its_block(before: str, after: list[str]) -> None:
    found = candidates(control_flow.unwrap_block, before)
    assert [text for text in found if text in [normal(a) for a in after]] == [normal(a) for a in after]


def test_the_branch_that_was_taken_comes_first() -> None:
    source = "if 0:\n    a = 1\nelse:\n    b = 2"
    assert candidates(control_flow.unwrap_block, source, ran(source))[0] == "b = 2"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("for i in range(9):\n    f(i)", "f(0)"),
        ("for i in range(9):\n    f(i, i)", "f(0, 0)"),
        ("for i, x in enumerate(xs):\n    f(i, x)", "f(0, xs[0])"),
        ("for a, b in zip(p, q):\n    f(a)\n    g(b)", "f(p[0])\ng(q[0])"),
        ("for x in (u, v):\n    f(x)", "f(u)"),
        ("for x in gen(1):\n    f(x)", "f(next(iter(gen(1))))"),
        ("for _ in range(3):\n    f()\n    if a:\n        break", "f()"),
    ],
)
def test_one_turn_for_a_loop(before: str, after: str) -> None:
    found = candidates(control_flow.unroll, before)
    assert found[0] == normal(after)


def test_the_turn_in_which_it_failed_comes_first() -> None:
    source = "for x in [3, 2, 0]:\n    y = 1 / x"
    assert candidates(control_flow.unroll, source, ran(source)) == ["y = 1 / 0", "y = 1 / 3"]


def test_items_come_from_facts() -> None:
    source = "for k, v in d.items():\n    f(k, v)"
    wire = ran(source, {"d": {"k": "dict", "items": [[const("a"), const(1)]]}})
    assert candidates(control_flow.unroll, source, wire)[0] == "f('a', d['a'])"
    source = "for n in sizes:\n    f(n, n)"
    assert candidates(control_flow.unroll, source, ran(source, {"sizes": seq(const(4))}))[0] == "f(4, 4)"


def test_a_loop_variable_that_is_long_to_write_gets_a_statement() -> None:
    source = "for x in gen():\n    f(x, x)"
    assert candidates(control_flow.unroll_named, source)[0] == normal("x = next(iter(gen()))\nf(x, x)")


def test_loops_get_shorter() -> None:
    assert candidates(control_flow.shorten_loop, "for i in range(n):\n    f(i)") == [
        normal("for i in range(1):\n    f(i)"),
        normal("for i in range(2):\n    f(i)"),
    ]
    assert candidates(control_flow.shorten_loop, "y = [f(x) for x in tqdm(xs)]") == ["y = [f(x) for x in xs]"]


def test_a_branch_for_a_conditional_expression() -> None:
    source = "x = 1 if a else f()"
    assert candidates(control_flow.choose_branch, source) == ["x = 1", "x = f()"]
    wire = ran(source, {"a": const(False), "f()": const(2)})
    assert candidates(control_flow.choose_branch, source, wire)[0] == "x = f()"


def test_a_constant_that_was_chosen_is_known_by_the_other_side_that_was_not() -> None:
    source = "x = f() if a else 1\ny = 'a' if b else 'c'"
    wire = ran(source, {"a": const(False), "b": const(True)})
    assert candidates(control_flow.choose_all_branches, source, wire) == [normal("x = 1\ny = 'a'")]


def test_the_first_element_for_a_comprehension() -> None:
    assert candidates(control_flow.unroll_comprehensions, "y = [f(x) for x in xs]") == [
        "y = [f(xs[0])]",
        "y = f(xs[0])",
    ]
    assert candidates(control_flow.unroll_comprehensions, "y = {k: f(v) for k, v in zip(a, b)}") == [
        "y = {a[0]: f(b[0])}",
        "y = f(b[0])",
    ]


def test_a_turn_of_a_zip_over_several_at_once_is_a_list() -> None:
    source = "y = [f(*a) for a in zip(*xs)]"
    found = candidates(control_flow.unroll_comprehensions, source)
    assert found == [normal("y = [f(*[v[0] for v in xs])]"), normal("y = f(*[v[0] for v in xs])")]
    assert candidates(control_flow.unroll_comprehensions, "y = [f(a, b) for a, b in zip(*xs, z)]") == []


def test_a_generator_becomes_a_function() -> None:
    source = "def g(n):\n    while True:\n        x = n\n        yield (x, 1)\nfor a, b in g(2):\n    f(a)"
    assert candidates(control_flow.return_for_yield, source) == [
        normal("def g(n):\n    x = n\n    return (x, 1)\na, b = g(2)\nf(a)")
    ]


def test_clauses_go_alone() -> None:
    source = "try:\n    a\nexcept E as e:\n    b\nfinally:\n    c"
    assert candidates(control_flow.drop_clause, source) == [
        normal("try:\n    a\nexcept E as e:\n    b"),
        normal("try:\n    a\nfinally:\n    c"),
        normal("try:\n    a\nexcept E:\n    b\nfinally:\n    c"),
    ]


def test_two_branches_become_one_conditional_expression() -> None:
    source = "if c:\n    y = a\nelse:\n    y = b\nif c:\n    y = a\nelse:\n    z = b\nif c:\n    y = a\ny = b"
    assert candidates(control_flow.conditional_for_branches, source) == [
        normal(source.replace("if c:\n    y = a\nelse:\n    y = b", "y = a if c else b"))
    ]
    source = "def f(x):\n    if x.any():\n        return a\n    return b"
    assert candidates(control_flow.conditional_for_branches, source) == [
        normal("def f(x):\n    return a if x.any() else b")
    ]
    source = "def f(x):\n    if x.any():\n        return a\n    else:\n        return b\n    c"
    assert candidates(control_flow.conditional_for_branches, source) == [
        normal("def f(x):\n    return a if x.any() else b\n    c")
    ]

"""Containers and folding: what stays when literals are worked out and containers taken apart."""

from __future__ import annotations

import ast

import pytest
from shrinkrepro_strategies import containers, control_flow, filled
from shrinkrepro_strategies.folding import fold

from shrinkrepro.core.edits import source_of
from tests.helpers import candidates, normal
from tests.strategies.observed import const, ran, seq, tensor


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = a if True else b", "x = a"),
        ("x = not (0 or False)", "x = True"),
        ("x = True and y", "x = y"),
        ("x = y or True", "x = y or True"),
        ("if 1 == 2:\n    a\nelif b:\n    c", "if b:\n    c"),
        ("def f():\n    if 0:\n        a", "def f():\n    pass"),
        ("x = {'a': y, 'b': z}['b']", "x = z"),
        ("x = (y, z)[-1]", "x = z"),
        ("x = (y, *z)[1]", "x = (y, *z)[1]"),
        ("x = [y][3]", "x = [y][3]"),
    ],
)
def test_literals_are_worked_out(before: str, after: str) -> None:
    assert normal(source_of(fold(ast.parse(before).body))) == normal(after)


def test_an_element_for_a_subscript() -> None:
    assert candidates(containers.fold_subscript, "f((a, b)[1])") == ["f(b)"]
    assert candidates(containers.fold_subscript, "f(next(iter([a, b])))") == ["f(a)"]


def test_entries_become_variables() -> None:
    source = "d = {}\nd['a'] = f()\nd['b c'] = 1\ng(d['a'], d['b c'])"
    assert candidates(containers.names_for_entries, source) == [normal("a = f()\nb = 1\ng(a, b)")]


def test_appended_values_become_variables() -> None:
    source = "seen = []\nseen.append(f())\nseen.append(g())\nh(seen[1])"
    assert candidates(containers.names_for_entries, source) == [normal("a = f()\nb = g()\nh(b)")]


@pytest.mark.parametrize("use", ["len(d)", "d[k]", "d.items()", "del d['a']", "return_(d)"])
def test_a_container_that_is_used_whole_stays(use: str) -> None:
    assert candidates(containers.names_for_entries, f"d = {{'a': 1}}\nd['a']\n{use}") == []


def test_every_turn_of_a_short_loop() -> None:
    source = "for b in (False, True):\n    d = 1 if b else 2"
    assert candidates(control_flow.all_turns, source, ran(source)) == [normal("d = 2\nd = 1")]
    source = normal("def f():\n    return b\nfor b in (1, 2):\n    f()")
    after = normal("def f():\n    return b\nb = 1\nf()\nb = 2\nf()")
    assert candidates(control_flow.all_turns, source) == [after]


def test_literal_conditions_are_worked_out_one_statement_at_a_time() -> None:
    assert candidates(control_flow.fold_conditions, "x = 1 if True else 2\ny = not False\nz = a") == [
        normal("x = 1\ny = not False\nz = a"),
        normal("x = 1 if True else 2\ny = True\nz = a"),
    ]


def test_one_entry_for_a_structure_with_its_lookups() -> None:
    source = "def f(p):\n    return p['w']\nf({'w': x})"
    assert candidates(containers.unwrap_single_entry, source) == [normal("def f(p):\n    return p\nf(x)")]


def test_a_tensor_for_a_structure_of_tensors() -> None:
    source = "f(g(x, y))"
    wire = ran(source, {"g(x, y)": {"k": "dict", "items": [[const("w"), seq(tensor(2, 3))]]}})
    assert candidates(containers.leaf_for_structure, source, wire) == [normal("import torch\nf(torch.ones(2, 3))")]


def test_a_list_of_which_the_last_counts_is_a_variable() -> None:
    source = "out = [f]\nfor _ in range(3):\n    out.append(grad(out[-1]))\nout[3](x)"
    assert candidates(containers.last_for_list, source) == [
        normal("out = f\nfor _ in range(3):\n    out = grad(out)\nout(x)")
    ]
    source = "out = []\nfor x in xs:\n    out.append(f(x))\ng(out[0])"
    assert candidates(containers.last_for_list, source) == [normal("for x in xs:\n    out = f(x)\ng(out)")]
    assert candidates(containers.last_for_list, "out = []\nout.append(f(x))\ntorch.stack(out)") == []
    assert candidates(containers.last_for_list, "out = []\nvmap(out.append)(x)\ng(out[0])") == []
    assert candidates(containers.last_for_list, "out = [f]\ng(out[0])") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = []\na.append(x)\ny = 1\na += [y]\nf(*a)", "y = 1\na = [x, y]\nf(*a)"),
        ("a = [z]\na.extend((x, y))\nf(a)", "a = [z, x, y]\nf(a)"),
        ("d = {}\nd['k'] = x\nd.update(m=y)\nf(d)", "d = {'k': x, 'm': y}\nf(d)"),
        ("d = dict(k=x)\nd |= {'m': y}\nf(**d)", "d = {'k': x, 'm': y}\nf(**d)"),
        ("a = list()\na.append(x)\nf(a)\na.append(y)", "a = [x]\nf(a)\na.append(y)"),
    ],
)
def test_a_container_becomes_the_literal_that_it_is_filled_to(before: str, after: str) -> None:
    assert candidates(filled.literal_for_filling, before) == [normal(after)]


@pytest.mark.parametrize(
    "source",
    ["a = []\na.append(a[-1])", "a = x\na.append(y)", "a = []\nfor i in x:\n    a.append(i)", "a = []\na.pop()"],
)
def test_other_containers_stay(source: str) -> None:
    assert candidates(filled.literal_for_filling, source) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = {k: v for k, v in m.named_parameters()}", "y = dict(m.named_parameters())"),
        ("y = {k: v for k, v in d.items()}", "y = d"),
    ],
)
def test_a_dict_made_anew_is_the_dict(before: str, after: str) -> None:
    assert normal(after) in candidates(containers.dict_for_comprehension, before)


@pytest.mark.parametrize(
    "source", ["y = {v: k for k, v in d}", "y = {k: v for k, v in d if k}", "y = {k: v + 1 for k, v in d}"]
)
def test_a_dict_of_something_else_stays(source: str) -> None:
    assert not candidates(containers.dict_for_comprehension, source)

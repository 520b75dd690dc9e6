"""The canonical text of a program."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.core.canonical import canonical

REDUCED = """\
import torch

def f(v):
    return torch.softmax(v, 0)

torch.testing.assert_close(torch.vmap(f)(torch.zeros(2, 3)), torch.tensor(0.5))
"""

SAME = (
    REDUCED.replace("f(", "energy(").replace("(f)", "(energy)").replace("v", "point").replace("point" + "map", "vmap"),
    REDUCED.replace("zeros(2, 3)", "zeros(4, 5)"),
    REDUCED.replace("0.5", "0.25"),
    "import torch as t\n" + REDUCED.partition("\n")[2].replace("torch.", "t."),
    REDUCED.replace("torch.testing.assert_close(", "assert torch.allclose(")[:-1] + ', "they differ"\n',
    REDUCED.replace("torch.testing.assert_close(", "if not torch.allclose(")[:-1] + ":\n    raise ValueError('off')\n",
)

OTHER = (
    REDUCED.replace("softmax", "log_softmax"),
    REDUCED.replace("zeros(2, 3)", "zeros(2, 2)"),
    REDUCED.replace("torch.vmap(f)", "torch.func.jacrev(f)"),
    REDUCED.replace("torch.zeros", "torch.ones"),
    REDUCED.replace("return torch.softmax(v, 0)", "return torch.softmax(v, 0) + v"),
)


@pytest.mark.parametrize("text", SAME)
def test_what_is_accidental_makes_no_difference(text: str) -> None:
    assert text != REDUCED
    assert canonical(text) == canonical(REDUCED)


@pytest.mark.parametrize("text", OTHER)
def test_what_may_be_another_bug_makes_one(text: str) -> None:
    assert canonical(text) != canonical(REDUCED)


def test_two_variables_are_never_one() -> None:
    assert canonical("a = 1\nb = 1\nprint(a, b)\n") != canonical("a = 1\nb = 1\nprint(b, a)\n")


def test_a_text_that_does_not_parse_is_its_own() -> None:
    assert canonical("x = (\n") == "x = (\n"


NAMES = st.lists(st.from_regex(r"[a-z]{1,6}_", fullmatch=True), min_size=3, max_size=3, unique=True)


@given(NAMES, NAMES, st.lists(st.integers(2, 99), min_size=2, max_size=2, unique=True).map(sorted))
def test_names_and_sizes_never_matter(one: list[str], other: list[str], sizes: list[int]) -> None:
    def text(names: list[str], low: int, high: int) -> str:
        f, x, y = names
        return (
            f"import torch\n{f} = lambda {x}, {y}: {x} * {y}.sum()\n"
            f"print({f}(torch.ones({low}, {high}), torch.ones({high})))\n"
        )

    assert canonical(text(one, 2, 3)) == canonical(text(other, *sizes))
    ast.parse(canonical(text(one, 2, 3)))

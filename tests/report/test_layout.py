"""The final layout changes how a program looks, and nothing else."""

from __future__ import annotations

import ast
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkrepro.report.layout import layout, printed, same_program

FRAGMENTS = (
    "import os, sys",
    "from torch.func import vmap, grad as g",
    "import torch",
    "x = (1, 2)[0]; y = -x ** 2",
    "def f(a, /, b=(1,), *c, d: int = 3, **e) -> None:\n    'doc'\n    global z; z = a, b",
    "class C(dict, metaclass=type):\n    a: int\n    @staticmethod\n    def m(): return (yield)",
    "t = f'{x!r:>{y}} {{}} {\"a\" + str(1)}' 'b' \"\\n\\x00'\"",
    "for i, (j, k) in [(1, (2, 3))]:\n    if i: continue\n    else: break\nelse: pass",
    "try: pass\nexcept (OSError, ValueError) as e: raise RuntimeError('a') from e\nfinally: del x",
    "with open('a') as p, open('b') as (q, r): pass",
    "l = lambda *a, k=1: (a if k else (lambda: 0)())",
    "v = {**{}, 'a': [*[], 1]} | {1} and not x == y or (z := 3)",
    "s = x[1:2, ..., None], x[(1, 2)], 1 .real, 1e300 * 10, 1j, -1, b'a'",
    "async def h():\n    async with a as b: return [c async for c in d if await c]",
    "assert x, (1, 2)\nwhile not x: x = yield_ = 3",
    "match x:\n    case {'a': [1, *_], **r} if r: pass\n    case C(a=1) | None: pass",
)


@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6))
def test_printing_keeps_the_tree(fragments: list[str]) -> None:
    source = "\n".join(fragments)
    assert same_program(printed(ast.parse(source)), source)


@settings(max_examples=20)  # each lays out twice, with two processes of ruff's
@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4))
def test_layout_keeps_the_program_and_is_stable(fragments: list[str]) -> None:
    # one import a line, in order, so that sorting has nothing to move and the trees can be compared
    source = "\n".join(fragment for fragment in fragments if "import" not in fragment) or "pass"
    once = layout(source)
    assert same_program(once, source)
    assert layout(once) == once


def test_imports_are_split_and_sorted() -> None:
    source = "from torch.func import vmap, grad\nimport torch, os\nprint(torch, os, vmap, grad)"
    expected = "import os\n\nimport torch\nfrom torch.func import grad, vmap\n\nprint(torch, os, vmap, grad)\n"
    assert layout(source) == expected


def test_no_needless_parentheses() -> None:
    assert layout("def f(a, b):\n    return (a, b)\n(c, d) = f(1, 2)") == (
        "def f(a, b):\n    return a, b\n\n\nc, d = f(1, 2)\n"
    )


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is Python 3.11's")
def test_what_astor_cannot_print_is_printed_all_the_same() -> None:
    source = "try:\n    pass\nexcept* ValueError:\n    pass\n"
    assert layout(source) == source


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are Python 3.12's")
def test_type_parameters_are_not_dropped() -> None:
    assert "[T]" in layout("def f[T](x: T) -> T:\n    return x\n")


@pytest.mark.filterwarnings("error")
def test_astors_deprecation_warnings_stay_inside() -> None:
    assert layout("x = 1") == "x = 1\n"


def test_imports_come_first_after_the_docstring() -> None:
    assert layout("'doc'\nx = 1\nfrom torch import ones\nones(x)\nimport os\n") == (
        '"""doc"""\n\nimport os\n\nfrom torch import ones\n\nx = 1\nones(x)\n'
    )


@pytest.mark.parametrize(
    "line", ["ones = 1", "def ones():\n    pass", "for ones in ():\n    pass", "import ones", "from os import *"]
)
def test_an_import_stays_where_its_name_is_bound_twice(line: str) -> None:
    source = f"{line}\nx = 1\nfrom torch import ones\n"
    assert same_program(layout(source), source)

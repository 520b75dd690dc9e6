"""Application: what edits do to a program's text."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkrepro.core.apply import Inapplicable, apply
from shrinkrepro.core.edits import Change, Edit, Path, delete, join, replace
from shrinkrepro.core.program import Program

SOURCE = '''
import torch
from math import pi, e

@decorated
class A(Base):
    """doc"""
    size = 3
    def f(self, x, y=1, *, z=2):
        if x:
            return y
        elif z:
            x = {1: 2, **y}
        else:
            del x
        for i, j in z:
            with open(x) as a, b:
                continue
        try:
            assert x < y < z, f"{x}: {y:.2f}"
        except (ValueError, TypeError) as error:
            raise error from None
        finally:
            x[1:2, ::3] = lambda q, *r: [q for q in r if q]
        return y
x: int = A(1)(2, k=3)
'''
PROGRAM = Program.parse(SOURCE)
PATHS: list[Path] = [path for path, node in PROGRAM.walk() if path and hasattr(node, "lineno")]


def edited(*edits: Edit, source: str = SOURCE) -> str:
    return Program.parse(apply(Program.parse(source), edits)).source


@given(st.lists(st.sampled_from(PATHS), min_size=1, max_size=6, unique=True))
@settings(max_examples=300, deadline=None)
def test_deletions_that_fit_give_a_program(paths: list[Path]) -> None:
    try:
        text = apply(PROGRAM, [delete(path) for path in paths])
    except Inapplicable:
        return
    ast.parse(text)


@given(st.sampled_from(PATHS))
@settings(max_examples=200, deadline=None)
def test_replacing_a_node_by_itself_changes_nothing(path: Path) -> None:
    node = PROGRAM.node(path)
    in_fstring = any(isinstance(up, ast.JoinedStr) for _, up in PROGRAM.ancestors(path))
    if isinstance(node, ast.ExceptHandler | ast.Slice | ast.Tuple) or in_fstring:
        return
    assert edited(replace(path, node)) == PROGRAM.source


@given(st.permutations([delete(("body", 0)), delete(("body", 3)), delete(("body", 2, "body", 1))]))
def test_the_order_of_edits_does_not_matter(edits: list[Edit]) -> None:
    assert apply(PROGRAM, edits) == apply(PROGRAM, sorted(edits))


def test_a_deletion_swallows_what_is_below_it() -> None:
    assert edited(delete(("body", 0)), replace(("body", 0, "value"), "2"), source="x = 1\ny = 2") == "y = 2"


def test_replacements_that_overlap_do_not_fit() -> None:
    with pytest.raises(Inapplicable):
        edited(replace(("body", 0, "value"), "2"), replace(("body", 0), "z"), source="x = 1 + 1")


@pytest.mark.parametrize(
    ("source", "path", "after"),
    [
        ("if a:\n    b", ("body", 0, "body", 0), "if a:\n    pass"),
        ("def f(a, b=1): a", ("body", 0, "args", "args", 1), "def f(a):\n    a"),
        ("def f(a=1, b=2): a", ("body", 0, "args", "args", 0), "def f(b=2):\n    a"),
        ("f({1: 2, 3: 4})", ("body", 0, "value", "args", 0, "keys", 0), "f({3: 4})"),
        ("a < b < c", ("body", 0, "value", "comparators", 0), "a < c"),
        ("a and b", ("body", 0, "value", "values", 1), "a"),
        ("with a:\n    b\n    c", ("body", 0, "items", 0), "b\nc"),
        ("import a", ("body", 0, "names", 0), ""),
        ("try:\n    a\nexcept E:\n    b", ("body", 0, "handlers", 0), "a"),
        ("def f() -> int: a", ("body", 0, "returns"), "def f():\n    a"),
        ("a = b = c", ("body", 0, "targets", 0), "b = c"),
    ],
)
def test_what_a_deletion_leaves(source: str, path: Path, after: str) -> None:
    assert edited(delete(path), source=source) == Program.parse(after).source


@pytest.mark.parametrize(
    ("source", "path", "text", "after"),
    [
        ("x = 1", ("body", 0), "y = 2\nz = 3", "y = 2\nz = 3"),
        ("x = 1", ("body", 0, "targets", 0), "a, b", "a, b = 1"),
        ("def f(a): a", ("body", 0, "name"), "g", "def g(a):\n    a"),
        ("f(a=1)", ("body", 0, "value", "keywords", 0), "b=2", "f(b=2)"),
        ("x[1:2]", ("body", 0, "value", "slice"), ":, 0", "x[:, 0]"),
        ("x * y", ("body", 0, "value", "left"), "a + b", "(a + b) * y"),
        ("import a.b", ("body", 0, "names", 0), "a.c as d", "import a.c as d"),
    ],
)
def test_what_a_replacement_puts(source: str, path: Path, text: str, after: str) -> None:
    assert edited(replace(path, text), source=source) == Program.parse(after).source


def test_a_required_part_cannot_be_deleted() -> None:
    with pytest.raises(Inapplicable):
        edited(delete(("body", 0, "value")), source="x = 1")


def test_imports_are_added_once_and_after_futures() -> None:
    edit = join(replace(("body", 1, "value"), "torch.ones(1)", ("import torch",)), delete(("body", 2)))
    source = "from __future__ import annotations\nx = 1\ny = 2"
    assert edited(edit, source=source) == "from __future__ import annotations\nimport torch\nx = torch.ones(1)"
    assert edited(edit, source="import torch\nx = 1\ny = 2") == "import torch\nx = torch.ones(1)"


def test_an_elif_that_is_left_alone_stays_a_branch() -> None:
    source = "if a:\n    b\nelif c:\n    d\nelse:\n    e"
    assert edited(delete(("body", 0, "body", 0)), source=source) == source.replace("    b", "    pass", 1)


def test_a_change_names_one_place_only() -> None:
    with pytest.raises(Inapplicable):
        edited(Edit((Change(("body", 0, "value"), "2"), Change(("body", 0, "value"), "3"))), source="x = 1")

"""Notebooks as scripts."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.core.notebook import NotebookError, script_of


def notebook(*cells: str) -> str:
    kinds = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["# a title"]}, *kinds], "nbformat": 4})


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("import torch\nx = torch.ones(2)", "import torch\nx = torch.ones(2)\n"),
        ("%matplotlib inline\nx = 1", "x = 1\n"),
        ("!pip install torch\nx = 1", "x = 1\n"),
        ("if x:\n    !ls\ny = 2", "if x:\n    pass\ny = 2\n"),
        ("files = !ls\ny = 2", "y = 2\n"),
        ("%time y = f(x)", "y = f(x)\n"),
        ("    %timeit f(x)", "    f(x)\n"),
        ("%timeit -n 3 f(x)\ny = 2", "y = 2\n"),
        ("%%time\ny = 2", "y = 2\n"),
        ("x.shape?\ny = 2", "y = 2\n"),
        ("z = a % b\nt = f'{x!r}'", "z = a % b\nt = f'{x!r}'\n"),
        ("x = (a\n  %b)", "x = (a\n  %b)\n"),
    ],
)
def test_a_cell_becomes_plain_python(cell: str, code: str) -> None:
    assert script_of(notebook(cell)) == code


def test_cells_in_other_languages_are_left_out() -> None:
    assert script_of(notebook("%%bash\nls", "x = 1", "\n%%writefile a.py\ny = 2", "z = 3")) == "x = 1\n\nz = 3\n"


def test_a_cell_may_be_one_text_and_an_old_notebook_has_sheets() -> None:
    cell = {"cell_type": "code", "input": "x = 1"}
    assert script_of(json.dumps({"worksheets": [{"cells": [cell]}]})) == "x = 1\n"


@pytest.mark.parametrize(
    "text", ["", "x = 1", "[]", "{}", '{"cells": 1}', '{"cells": [1]}', notebook(), notebook("!ls")]
)
def test_what_is_no_notebook_is_told(text: str) -> None:
    with pytest.raises(NotebookError):
        script_of(text)


@given(
    st.lists(st.sampled_from(["x = 1", "def f():\n    return 2", "y = x % 3", "for i in x:\n    print(i)"]), min_size=1)
)
def test_python_stays_as_it_is(cells: list[str]) -> None:
    found = script_of(notebook(*cells))
    assert ast.dump(ast.parse(found)) == ast.dump(ast.parse("\n".join(cells)))

"""Statements put at the end of a script."""

from __future__ import annotations

import pytest

from shrinkrepro.core.main_code import appended

GUARDED = """\
import sys

def f(x):
    return x * factor

factor = 2

if __name__ == "__main__":
    batch = load()
    sys.exit(f(batch))
"""


def test_the_main_code_goes() -> None:
    text, line = appended(GUARDED, "got = f(3)")
    assert "sys.exit" not in text
    assert text.splitlines()[line - 1] == "got = f(3)"


@pytest.mark.parametrize("lines", ["got = f(batch)", "def g():\n    return batch"])
def test_it_stays_when_it_binds_what_is_read(lines: str) -> None:
    text, line = appended(GUARDED, lines)
    assert text == GUARDED + lines + "\n"
    assert text.splitlines()[line - 1] == lines.splitlines()[0]


def test_it_stays_when_a_function_reads_what_it_binds() -> None:
    script = GUARDED.replace("factor = 2\n", "").replace("batch = load()", "factor = 3")
    assert appended(script, "got = f(3)")[0] == script + "got = f(3)\n"


def test_what_both_bind_is_no_reason_to_keep_it() -> None:
    script = GUARDED.replace("batch = load()", "factor = 3")
    assert "sys.exit" not in appended(script, "got = f(3)")[0]


def test_a_guard_with_an_else_stays() -> None:
    script = GUARDED + "else:\n    batch = 0\n"
    assert appended(script, "got = f(3)")[0] == script + "got = f(3)\n"


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n", "\n# the end"])
def test_the_line_is_that_of_the_new_text(end: str) -> None:
    text, line = appended("x = 1" + end, "y = 2\nz = 3")
    assert text.splitlines()[line - 1 :] == ["y = 2", "z = 3"]

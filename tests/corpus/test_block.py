"""The block: what is found, and that nothing else of a file changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruff import find_ruff_bin

from shrinkrepro.corpus import block
from shrinkrepro.corpus.digest import digest

BLOCK = "# /// script\n# a = 1\n#\n# [t]\n# ///"
LINES = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=20), max_size=6)


@settings(max_examples=50)
@given(LINES, LINES, LINES)
def test_any_toml_is_found_again_and_the_program_stays(toml: list[str], before: list[str], after: list[str]) -> None:
    program = "".join(f"x = {line!r}\n" for line in before) + "".join(f"y = {line!r}\n" for line in after)
    wanted = "\n".join(["a = 1", *(line.rstrip() for line in toml if line.rstrip() != "///"), "b = 2"])
    text = block.with_block(program, wanted)
    found = block.find(text)
    assert found is not None
    assert found.toml == wanted + "\n"
    assert block.program(text) == program
    assert block.with_block(text, wanted) == text


@pytest.mark.parametrize(
    "head", ["#!/usr/bin/env python\n", "# -*- coding: utf-8 -*-\n", "#!/bin/x\n# vim: coding=utf-8\n"]
)
def test_what_must_come_first_stays_first(head: str) -> None:
    assert block.with_block(head + "x = 1\n", "a = 1") == head + "# /// script\n# a = 1\n# ///\n\nx = 1\n"


def test_line_ends_and_byte_order_mark_stay() -> None:
    text = "\ufeffx = 1\r\ny = 2\r\n"
    new = block.with_block(block.with_block(text, "a = 1"), "a = 2")
    assert new == "\ufeff# /// script\r\n# a = 2\r\n# ///\r\n\r\nx = 1\r\ny = 2\r\n"


def test_other_blocks_are_not_ours() -> None:
    assert block.find("# /// tool\n# a = 1\n# ///\n") is None
    assert block.find("x = '''\n # /// script'''\n") is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (f"{BLOCK}\n\n{BLOCK}\n", "more than one"),
        ("# /// script\n# a = 1\nx = 1\n", "broken"),
        ("# /// script\n#a\n# ///\n", "broken"),
    ],
)
def test_a_block_that_cannot_be_used(text: str, word: str) -> None:
    with pytest.raises(block.BlockError, match=word):
        block.find(text)


PROGRAM = '''import torch
class F:
    """Say
       what."""
    def f(self, a,  b = 'x'):
        return (a , b, f'{a}' "end", 0XFF)
'''


def test_a_formatter_leaves_block_and_digest_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "case.py"
    file.write_text(block.with_block(PROGRAM, "[tool.shrinkrepro]\nlong = '" + "words " * 40 + "'\n\n[tool.other]"))
    before = file.read_text()
    subprocess.run([find_ruff_bin(), "format", "--isolated", str(file)], check=True, capture_output=True)
    after = file.read_text()
    assert after != before
    assert block.find(after) == block.find(before)
    assert digest(block.program(after)) == digest(PROGRAM)


@pytest.mark.parametrize(
    "edit", [("0XFF", "0xFE"), ("'x'", "'y'"), ("a , b", "b , a"), ("what", "which"), ("return ", "")]
)
def test_an_edit_changes_the_digest(edit: tuple[str, str]) -> None:
    assert digest(PROGRAM.replace(*edit)) != digest(PROGRAM)

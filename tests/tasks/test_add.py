"""A program becomes a case by what is measured on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shrinkrepro.corpus import block
from shrinkrepro.corpus.case import read
from tests.cli.command import says_one_error, shrinkrepro
from tests.tasks.test_replay import PROGRAMS, write_case

PROGRAM = "import torch\n\ntorch.vmap(lambda x: x.item())(torch.ones(3))\n"


@pytest.mark.torch
def test_a_program_becomes_a_case_that_still_runs(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(PROGRAM)
    done = shrinkrepro("add", "one.py", "--title", "an item", "--origin", "a note", cwd=tmp_path)
    assert done.code == 0, done.err
    case = read(file)
    assert (case.title, case.origin, case.expected, case.device) == ("an item", "a note", "fails", "cpu")
    assert (case.signature["kind"], case.signature["levels"]) == ("exception", ["vmap"])
    assert case.control.startswith("primal")
    assert case.first_seen["python"] == ".".join(map(str, sys.version_info[:3]))
    assert block.program(case.text) == PROGRAM
    plain = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert case.signature["sentence"] in plain.stderr
    says_one_error(shrinkrepro("add", "one.py", cwd=tmp_path), 2, "is a case already", "--force")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n", ("syntax error", "line 1")),
        ("", ("empty",)),
        ("# /// script\n# a = 1\nx = 1\n", ("block is broken",)),
        ("# /// script\n# a = = 1\n# ///\nx = 1\n", ("broken TOML",)),
    ],
)
def test_a_file_that_cannot_be_a_case(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    (tmp_path / "one.py").write_text(text)
    says_one_error(shrinkrepro("add", "one.py", cwd=tmp_path), 2, *words)
    assert (tmp_path / "one.py").read_text() == text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("one.py", ("two interpreters",)),
        (". --python {0} --python {0}", ("one case", "2 cases")),
        ("one.py --python {0} --python {0}", ("the same torch",)),
        ("none.py --python {0} --python {0}", ("none.py does not exist",)),
    ],
)
def test_a_bisection_that_cannot_be(tmp_path: Path, line: str, words: tuple[str, ...]) -> None:
    for name in ("one", "two"):
        write_case(tmp_path, name, PROGRAMS["same"])
    says_one_error(shrinkrepro("bisect", *line.format(sys.executable).split(), cwd=tmp_path), 2, *words)

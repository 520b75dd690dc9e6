"""Explain and report on a real case: what is told was run, and what is pasted fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shrinkrepro.report.bug import NeighbourRow
from tests.cli.command import says_one_error, shrinkrepro

ROOT = Path(__file__).resolve().parents[2]
CASE = ROOT / "corpus" / "function_without_vmap.py"


def plain(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``source`` as a reader would."""
    file = folder / "pasted.py"
    file.write_text(source, encoding="utf-8")
    return subprocess.run([sys.executable, file.name], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("report")
    out = folder / "report.json"
    line = ("report", CASE, "-o", out, "--environment", "short", "--words", "Mail jane@example.com")
    done = shrinkrepro(*line, cwd=folder)
    assert (done.code, done.out) == (0, ""), done.err
    table: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return table


@pytest.mark.torch
@pytest.mark.slow
def test_a_report_is_of_the_case(told: dict[str, Any]) -> None:
    assert told["title"] == "A custom Function without a vmap staticmethod"
    assert told["confirmed"] is True
    assert told["kind"] == "exception"
    assert "does not have vmap support" in told["actual"]
    assert "PyTorch version: " in told["environment"]
    assert "module: vmap" in told["labels"]
    assert "but it does not have vmap support" in told["query"]
    assert "loops" not in told["control"]
    assert told["words"] == "Mail <email>"
    assert told["masked"] == ["an e-mail address"]
    assert str(Path.home()) not in json.dumps(told)


@pytest.mark.torch
@pytest.mark.slow
def test_its_neighbours_do_as_scripts_what_is_told_of_them(told: dict[str, Any], tmp_path: Path) -> None:
    rows = [NeighbourRow(**row) for row in told["rows"]]
    assert {row.outcome for row in rows} >= {"passes", "fails the same"}
    [nearest] = [row for row in rows if row.title == told["nearest"]]
    assert nearest.outcome == "passes"
    assert plain(nearest.source, tmp_path).returncode == 0
    failed = plain(next(row for row in rows if row.outcome == "fails the same").source, tmp_path)
    assert "does not have vmap support" in failed.stderr


def test_a_program_that_fails_before_torch_is_told(tmp_path: Path) -> None:
    (tmp_path / "early.py").write_text("import no_such_module\n")
    says_one_error(shrinkrepro("report", "early.py", cwd=tmp_path), 6, "no_such_module")


EDITED = """\
# /// script
# requires-python = ">=3.10"
# dependencies = []
#
# [tool.shrinkrepro]
# format = 1
# failure = "RuntimeError: no"
# program = "{digest}"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "no"
#
# [tool.shrinkrepro.first-seen]
# torch = "2.0.1"
# ///

{program}
"""


def test_an_edited_case_that_no_longer_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "edited.py").write_text(EDITED.format(digest="sha256:0", program="print('fine')"))
    for command in ("explain", "report"):
        done = shrinkrepro(command, "edited.py", cwd=tmp_path)
        says_one_error(done, 3, "edited.py was edited", "ends normally", "shrinkrepro add --force")


def test_a_case_of_another_torch_is_told(tmp_path: Path) -> None:
    from shrinkrepro.corpus.digest import digest

    program = "raise ValueError('another')"
    (tmp_path / "old.py").write_text(EDITED.format(digest=digest(program + "\n"), program=program))
    done = shrinkrepro("report", "old.py", cwd=tmp_path)
    says_one_error(done, 3, "old.py does not fail the same", "ValueError", "torch 2.0.1", "--python")


def test_a_reduced_program_that_no_longer_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "train_reduced.py").write_text("print(1)\n")
    done = shrinkrepro("explain", "train_reduced.py", cwd=tmp_path)
    says_one_error(done, 3, "train_reduced.py does not fail", "edited")

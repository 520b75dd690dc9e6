"""The example reports: each program, pasted out of its Markdown and run with plain python, fails as the report says."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shrinkrepro.report.issue import LIMIT, PLACE
from shrinkrepro.tasks.report import pasted

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SHOWS = {  # how a run ends, and what it prints
    "exception": (1, "NotImplementedError: Trying to use forward AD with _euclidean_dist"),
    "mismatch": (1, "AssertionError: Tensor-likes are not close!"),
    "crash": (-signal.SIGSEGV, ""),
    "compile": (1, "INTERNAL ASSERT FAILED"),
    "regression": (1, "Error"),
}


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWS)
def test_what_is_pasted_fails_as_it_says(name: str, tmp_path: Path) -> None:
    text = (EXAMPLES / f"{name}.md").read_text(encoding="utf-8")
    program = pasted(text)
    assert program is not None
    (tmp_path / "pasted.py").write_text(program, encoding="utf-8")
    done = subprocess.run([sys.executable, "pasted.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    code, words = SHOWS[name]
    assert done.returncode == code
    assert words in done.stderr
    assert words in text


def test_every_example_is_a_whole_report() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.md") if path.stem != "README") == sorted(SHOWS)
    for name in SHOWS:
        text = (EXAMPLES / f"{name}.md").read_text(encoding="utf-8")
        assert len(text) <= LIMIT
        assert PLACE in text
        assert "run once more, and failed the same" in text
        assert re.findall(r"(?m)^### .*", text) == ["### 🐛 Describe the bug", "### Versions"]
        assert not re.search(r"/(?:home|root|work|tmp)/", text)


def test_the_regression_names_both_torches() -> None:
    text = (EXAMPLES / "regression.md").read_text(encoding="utf-8")
    assert re.search(r"(?m)^- torch 2\.0\.1\S*, Python 3\.10\.\d+: ends normally$", text)
    assert re.search(r"(?m)^- torch 2\.13\S*, Python \S+: fails as above$", text)
    assert "module: regression" in text

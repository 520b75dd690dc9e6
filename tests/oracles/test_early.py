"""What a script misses before it reaches torch: real runs of small scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkrepro.oracles.early import before_torch
from tests.oracles.record import execution_of, run

MISSING = {
    "module": ("import no_such_module_here", "no_such_module_here"),
    "submodule": ("import json.nothing", "json.nothing"),
    "name": ("from json import nothing_there", "nothing_there"),
    "file": ("open('weights.pt')", "weights.pt"),
    "file, told again": (
        "try:\n    open('weights.pt')\nexcept OSError as e:\n    raise RuntimeError('cannot load') from e",
        "weights.pt",
    ),
    "input": ("import sys, io\nsys.stdin = io.StringIO()\ninput()", "standard input"),
    "variable": ("import os\nos.environ['DATA_ROOT']", "DATA_ROOT"),
    "argparse": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()",
        "--data",
    ),
    "argv": ("import sys\nsys.argv[1]", "sys.argv"),
    "network": ("import urllib.error\nraise urllib.error.URLError('unknown host')", "unknown host"),
}
OTHERS = {
    "division": "1 / 0",
    "key": "{}['DATA_ROOT']",
    "index": "[][1]",
    "exit": "raise SystemExit(2)",
    "assert": "assert 0, 'No such file'",
    "well": "print('No module named x')",
    "caught": "try:\n    import no_such_module_here\nexcept ImportError:\n    pass\n1 / 0",
}


@pytest.mark.parametrize("what", MISSING)
def test_one_line_names_what_is_missing(tmp_path: Path, what: str) -> None:
    source, name = MISSING[what]
    script = tmp_path / "prog.py"
    script.write_text(source + "\n")
    early = before_torch(execution_of(run(script)))
    assert early is not None
    assert name in early.message
    assert early.hint
    assert "\n" not in str(early)


@pytest.mark.parametrize("what", OTHERS)
def test_a_failure_of_another_kind_is_none(tmp_path: Path, what: str) -> None:
    script = tmp_path / "prog.py"
    script.write_text(OTHERS[what] + "\n")
    assert before_torch(execution_of(run(script))) is None

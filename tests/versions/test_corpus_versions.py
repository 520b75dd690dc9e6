"""One case on two torches: what bisect and matrix say of it (``make test-versions``)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.command import shrinkrepro

OLD = os.environ.get("SHRINKREPRO_OLD", "")  # an interpreter with torch 2.0.1
CASE = Path(__file__).resolve().parents[2] / "corpus" / "returned_input_second_derivative.py"

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.versions,
    pytest.mark.skipif(not OLD, reason="make test-versions installs the other torch"),
]


@pytest.mark.parametrize("command", ["bisect", "matrix", "replay"])
def test_a_case_that_was_silent_and_raises_now(tmp_path: Path, command: str) -> None:
    done = shrinkrepro(command, CASE, "--python", sys.executable, "--python", OLD, cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    if command == "bisect":
        assert "it turned between torch 2.0.1" in done.out
    assert "fails" in done.out
    assert "changed" in done.out

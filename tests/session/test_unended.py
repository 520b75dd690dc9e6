"""A script that does not end, where nobody said after how long that is a hang."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkrepro.api import Silent
from shrinkrepro.errors import UsageError
from shrinkrepro.session import Request, original

pytestmark = pytest.mark.torch


def test_it_is_said_at_once_and_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(original, "FRESH_SECONDS", 2.0)  # ten minutes, else
    script = tmp_path / "solver.py"
    script.write_text("while True:\n    pass\n")
    with pytest.raises(UsageError, match=r"solver.py does not end within 2 s") as told:
        original.run_original(Request(script), Silent())
    assert "--timeout" in str(told.value.hint)

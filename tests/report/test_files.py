"""Where results may be written, and that they are written whole."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from shrinkrepro.errors import UsageError
from shrinkrepro.report.files import as_json, claim_output, default_output, write_whole


def test_the_default_output_lies_beside_the_script() -> None:
    assert default_output(Path("a/train.py"), None) == Path("a/train_reduced.py")
    assert default_output(Path("a/run"), None) == Path("a/run_reduced.py")
    assert default_output(None, "pkg.train") == Path("train_reduced.py")


def test_an_existing_output_needs_force(tmp_path: Path) -> None:
    output = tmp_path / "out.py"
    output.write_text("old")
    with pytest.raises(UsageError, match="exists already") as caught:
        claim_output(output, force=False)
    assert "--force" in caught.value.hint
    assert claim_output(output, force=True) == output


@pytest.mark.parametrize("name", ["script.py", "link.py", "sub/../script.py"])
def test_the_input_is_never_an_output(tmp_path: Path, name: str) -> None:
    script = tmp_path / "script.py"
    script.write_text("x")
    (tmp_path / "link.py").symlink_to(script)
    (tmp_path / "sub").mkdir()
    with pytest.raises(UsageError, match="is the input itself"):
        claim_output(tmp_path / name, force=True, never=script)


def test_a_missing_folder_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        claim_output(tmp_path / "no" / "out.py", force=True)
    with pytest.raises(UsageError, match="is a folder"):
        claim_output(tmp_path, force=True)


def test_write_whole_replaces_the_text_and_leaves_nothing_else(tmp_path: Path) -> None:
    output = tmp_path / "out.py"
    output.write_text("old")
    write_whole(output, "naïve = 1\n")
    assert output.read_bytes() == "naïve = 1\n".encode()
    assert os.listdir(tmp_path) == ["out.py"]


def test_a_write_that_fails_is_an_error_of_ours_and_leaves_nothing(tmp_path: Path) -> None:
    output = tmp_path / "out.py"
    output.mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(output, "x")
    assert os.listdir(tmp_path) == ["out.py"]


def test_json_holds_every_field() -> None:
    @dataclass(frozen=True)
    class Inner:
        label: str

    @dataclass(frozen=True)
    class Result:
        source: str
        inner: tuple[Inner, ...]

    assert json.loads(as_json(Result("é", (Inner("a"),)))) == {"source": "é", "inner": [{"label": "a"}]}

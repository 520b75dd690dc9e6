"""The folder of a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkrepro.errors import UsageError
from shrinkrepro.tasks.batch_state import CHECKED, Record, Store


def test_what_was_saved_is_there_the_next_time(tmp_path: Path) -> None:
    with Store(tmp_path / "out") as store:
        store.save(Record("deep/a.py", "1", status=CHECKED, notes=["ü"], checked={"tokens": 3}))
    with Store(tmp_path / "out") as store:
        assert store.load("deep/a.py", "1") == Record(
            "deep/a.py", "1", status=CHECKED, notes=["ü"], checked={"tokens": 3}
        )
        assert store.load("deep/a.py", "2") == Record("deep/a.py", "2")  # another text
        assert store.load("b.py", "1") == Record("b.py", "1")


def test_a_torn_record_is_as_none(tmp_path: Path) -> None:
    with Store(tmp_path / "out") as store:
        store.save(Record("a.py", "1", status=CHECKED))
        [file] = (tmp_path / "out" / "scripts").iterdir()
        file.write_text(file.read_text()[:20])
        assert store.load("a.py", "1") == Record("a.py", "1")


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UsageError, match="has other files in it"):
        Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with Store(tmp_path / "out"), pytest.raises(UsageError, match="another batch"):
        Store(tmp_path / "out")
    with Store(tmp_path / "out"):
        pass


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        Store(tmp_path / "out")

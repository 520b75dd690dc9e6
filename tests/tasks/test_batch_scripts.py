"""The scripts that a batch finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrinkrepro.errors import UsageError
from shrinkrepro.tasks.batch_scripts import find_scripts


def names(folder: Path, *lists: Path) -> list[str]:
    return [script.name for script in find_scripts([folder] if folder != lists else [], lists, folder / "out")]


def test_folders_are_searched_but_for_what_is_no_script(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "deep/c.py", "conftest.py", "p/__init__.py", ".git/x.py", "out/old.py", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("x = 1\n")
    assert names(tmp_path) == ["a.py", "b.py", "deep/c.py"]


def test_modules_beside_a_script_go_with_it(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import helper\nimport torch\n")
    (tmp_path / "helper.py").write_text("from part import inner\n")
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "__init__.py").write_text("")
    (tmp_path / "part" / "inner.py").write_text("x = 1\n")
    [script] = find_scripts([tmp_path / "main.py"], [], tmp_path / "out")
    assert sorted(script.sources) == ["helper.py", "main.py", "part/__init__.py", "part/inner.py"]


def test_a_script_that_cannot_be_read_is_a_row_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"x = '\xff'\n")
    [script] = find_scripts([tmp_path], [], tmp_path / "out")
    assert "is not UTF-8" in script.fault
    assert script.tokens == 0


def test_lists_have_paths_and_texts(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("x = 1\n")
    rows = [{"path": "x.py", "args": ["--fast"]}, {"source": "y = 1\n"}, {"name": "mine", "source": "z = 1\n"},
            {"path": "gone.py"}]  # fmt: skip
    listed = tmp_path / "harvest.jsonl"
    listed.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    first, second, third, gone = find_scripts([], [listed], tmp_path / "out")
    assert (first.name, first.text, first.args) == ("x.py", "x = 1\n", ("--fast",))
    assert (second.name, second.text) == ("harvest.jsonl:2", "y = 1\n")
    assert third.name == "mine"
    assert "does not exist" in gone.fault


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{half", "is no JSON"),
        ("[]", "no object"),
        ('{"path": "a", "source": "b"}', "either a path or a source"),
        ('{"path": "a", "prio": 1}', "'prio'"),
        ('{"path": "a", "args": "x"}', "args"),
        ('{"source": 3}', "strings"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    listed = tmp_path / "harvest.jsonl"
    listed.write_text('{"source": "x = 1"}\n' + line + "\n")
    with pytest.raises(UsageError) as caught:
        find_scripts([], [listed], tmp_path / "out")
    assert "line 2" in caught.value.message
    assert words in caught.value.message
    assert caught.value.hint


def test_no_script_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no Python script in"):
        find_scripts([tmp_path], [], tmp_path / "out")
    with pytest.raises(UsageError, match="no script is named"):
        find_scripts([], [], tmp_path / "out")
    with pytest.raises(UsageError, match="does not exist"):
        find_scripts([tmp_path / "gone"], [], tmp_path / "out")


def test_two_scripts_of_one_name_get_two(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(f"{folder} = 1\n")
    found = find_scripts([tmp_path / "one", tmp_path / "two", tmp_path / "one"], [], tmp_path / "out")
    assert [script.name for script in found] == ["a.py", "a.py (2)"]


def test_the_digest_is_of_all_that_decides_a_result(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("x = 1\n")
    [before] = find_scripts([tmp_path / "a.py"], [], tmp_path / "out")
    (tmp_path / "b.py").write_text("x = 2\n")
    [after] = find_scripts([tmp_path / "a.py"], [], tmp_path / "out")
    assert before.digest({}) != after.digest({})
    assert after.digest({}) != after.digest({"seed": 1})

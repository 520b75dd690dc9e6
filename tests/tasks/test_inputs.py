"""What is asked for is looked at before anything starts."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shrinkrepro
from shrinkrepro.errors import UsageError
from shrinkrepro.session import Request
from shrinkrepro.tasks.inputs import checked, parse_duration

GOOD = Request(script=None, text="import torch\n")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h", 3600), ("1h30m", 5400), ("0.5", 0.5)]
)
def test_times(text: str, seconds: float) -> None:
    assert parse_duration(text, "--budget") == seconds


@given(st.integers(0, 99), st.integers(0, 59), st.integers(1, 59))
def test_a_time_of_three_parts_is_their_sum(hours: int, minutes: int, seconds: int) -> None:
    assert parse_duration(f"{hours}h{minutes}m{seconds}s", "--budget") == 3600 * hours + 60 * minutes + seconds


@pytest.mark.parametrize("text", ["", "0", "-1", "ten", "10 m x", "1m1h", "nan", "inf", "1e3", "٣x"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_duration(text, "--budget")
    assert "--budget" in caught.value.message
    assert caught.value.hint


def test_a_good_request_passes_and_its_interpreter_is_found() -> None:
    assert checked(GOOD) == GOOD
    assert checked(replace(GOOD, python=sys.executable)).python == sys.executable


@pytest.mark.parametrize("match", ["signature", "message", "type", "/a.b/"])
def test_every_kind_of_match_passes(match: str) -> None:
    assert checked(replace(GOOD, match=match)).match == match


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"text": "  \n"}, "empty"),
        ({"text": "x = (\n"}, "line 1"),
        ({"text": "a = 1\nb = $\n"}, "line 2"),
        ({"text": "x = 1\0\n"}, "null"),
        ({"text": None}, "one script"),
        ({"module": "pkg", "script": Path("script.py")}, "one script"),
        ({"text": None, "module": "a..b"}, "a..b"),
        ({"keep": "("}, "--keep"),
        ({"exclude": "[a"}, "--exclude"),
        ({"match": "exact"}, "exact"),
        ({"match": "/(/"}, "--match"),
        ({"match": "//"}, "--match"),
        ({"jobs": 0}, "--jobs 0"),
        ({"timeout": -1.0}, "--timeout"),
        ({"budget": 0.0}, "--budget"),
        ({"seed": -1}, "--seed"),
        ({"isolation": "thread"}, "thread"),
        ({"device": "cuda 0"}, "cuda 0"),
        ({"python": "/no/such/python"}, "/no/such/python"),
        ({"cwd": Path("/no/such/folder")}, "/no/such/folder"),
        ({"preload": Path("/no/such/file.py")}, "--preload /no/such/file.py"),
    ],
)
def test_what_cannot_work_is_named_with_a_hint(change: dict[str, object], named: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked(replace(GOOD, **change))  # type: ignore[arg-type]
    assert named in caught.value.message
    assert caught.value.hint
    assert "\n" not in caught.value.message + caught.value.hint


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"x = 1\ny = '\xe9'\n")
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbfx = 1\n")
    for name, said in (("nope.py", "does not exist"), (".", "is a folder"), ("latin.py", "not UTF-8 (line 2)")):
        with pytest.raises(UsageError) as caught:
            checked(Request(script=tmp_path / name))
        assert said in caught.value.message
    assert checked(Request(script=tmp_path / "bom.py"))


def test_a_forgotten_suffix_is_seen(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")
    with pytest.raises(UsageError) as caught:
        checked(Request(script=tmp_path / "train"))
    assert caught.value.hint == f"did you mean {tmp_path / 'train.py'}?"


def test_a_notebook_is_its_code_cells(tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "source": ["%matplotlib inline\n", "x = 1"]}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    assert checked(Request(script=tmp_path / "a.ipynb")).text == "x = 1\n"
    (tmp_path / "b.ipynb").write_text("x = 1\n")
    with pytest.raises(UsageError, match=r"b.ipynb cannot be read: it is no notebook"):
        checked(Request(script=tmp_path / "b.ipynb"))


def test_the_library_takes_a_source_or_a_module() -> None:
    with pytest.raises(UsageError, match="one script, or one module"):
        shrinkrepro.reduce("x = 1\n", module="pkg")

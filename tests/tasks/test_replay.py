"""A replay tells each planted change by its name: one command line over one corpus in which everything happens."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from shrinkrepro.corpus.case import Case, Expectation, read
from shrinkrepro.corpus.folder import find
from shrinkrepro.corpus.write import render
from shrinkrepro.tasks.expectations import expectations, updated
from shrinkrepro.tasks.replayer import Replayed
from tests.cli.command import Done, shrinkrepro

pytestmark = pytest.mark.torch

ITEM = {
    "kind": "exception",
    "type": "RuntimeError",
    "sentence": "vmap: It looks like you're calling .item() on a Tensor",
    "levels": ["vmap"],
}
ALL_AT_ONCE = "torch.vmap(lambda x: {}.item())(torch.ones(3))"
PLANTS = """
import os, signal, time, types, torch

torch.Tensor.abs = lambda x: types.SimpleNamespace(item=lambda: x)

def neg(x):
    raise ValueError("neg is broken: a,b::c\\n100% sure")

torch.Tensor.neg = neg
torch.Tensor.exp = lambda x: time.sleep(1000)
torch.Tensor.sin = lambda x: os.kill(os.getpid(), signal.SIGSEGV)
"""
MOVED = "ValueError: neg is broken: a,b::c, raised in the program's own code, under vmap"
PROGRAMS = {
    "same": ALL_AT_ONCE.format("x"),
    "mended": ALL_AT_ONCE.format("x.abs()"),
    "moved": ALL_AT_ONCE.format("x.neg()"),
    "hangs": ALL_AT_ONCE.format("x.exp()"),
    "crashes": ALL_AT_ONCE.format("x.sin()"),
    "by_luck": "if torch.rand(1) < 0.5:\n    " + ALL_AT_ONCE.format("x"),
    "new_operator": ALL_AT_ONCE.format("torch.ops.aten.no_such_operator(x)"),
    "newer_torch": ALL_AT_ONCE.format("x"),
    "expected_moved": ALL_AT_ONCE.format("x.neg()"),
}


def write_case(folder: Path, name: str, program: str, **fields: Any) -> Case:
    """Write a case that expects the failure of ``.item()`` under vmap."""
    case = Case(name, folder / f"{name}.py", f"import torch\n\n{program}\n", ITEM, "RuntimeError: vmap: .item()")
    case.path.write_text(render(replace(case, **fields)), encoding="utf-8")
    return read(case.path)


@dataclass(frozen=True)
class Replay:
    """What one command said and wrote."""

    folder: Path
    done: Done
    rows: dict[str, dict[str, Any]]
    cost: dict[str, Any]


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Replay:
    folder = tmp_path_factory.mktemp("corpus")
    fields: dict[str, dict[str, Any]] = {
        "hangs": {"timeout": 1.0},
        "newer_torch": {"dependencies": ("torch>=99",)},
        "expected_moved": {
            "expected": "fixed",
            "on": (Expectation("changed", ">=2.0", failure=MOVED),),
        },
    }
    for name, program in PROGRAMS.items():
        write_case(folder, name, program, **fields.get(name, {}))
    (folder / "no_case.py").write_text("x = 1\n")
    edited = write_case(folder, "edited", PROGRAMS["same"])
    edited.path.write_text(edited.text.replace("ones(3)", "ones(4)"))
    broken = write_case(folder, "broken", PROGRAMS["same"])
    broken.path.write_text(broken.text.replace("# format = 1", "# format = = 1"))
    (folder / "sub").mkdir()
    write_case(folder / "sub", "same", PROGRAMS["same"])
    plants = tmp_path_factory.mktemp("plants") / "plants.py"
    plants.write_text(PLANTS)
    files = ["--json", "out.json", "--junit", "out.xml", "--md", "out.md", "--measure", "1"]
    done = shrinkrepro("replay", ".", "--preload", plants, *files, cwd=folder, GITHUB_ACTIONS="true")
    data = json.loads((folder / "out.json").read_text())
    return Replay(folder, done, {row["path"]: row for row in data["rows"]}, data["cost"])


@pytest.mark.parametrize(
    ("name", "status", "found"),
    [
        ("same", "fails", "RuntimeError: vmap: It looks like"),
        ("mended", "fixed", ""),
        ("moved", "changed", "ValueError: neg is broken"),
        ("hangs", "changed", "hang"),
        ("crashes", "changed", "crash by SIGSEGV"),
        ("by_luck", "flaky", "RuntimeError: vmap: It looks like"),
        ("new_operator", "unsupported", "AttributeError"),
        ("newer_torch", "unsupported", ""),
        ("expected_moved", "changed", "ValueError"),
    ],
)
def test_every_change_is_told(replay: Replay, name: str, status: str, found: str) -> None:
    row = replay.rows[f"{name}.py"]
    assert (row["status"], row["found"][: len(found)]) == (status, found), row
    assert bool(found) == bool(row["found"])
    assert row["as_expected"] is (name in ("same", "newer_torch", "expected_moved"))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("no_case.py", "is no case"),
        ("edited.py", "was edited"),
        ("broken.py", "broken TOML"),
        ("sub/same.py", "sub/same.py has the name of same.py"),
    ],
)
def test_a_wrong_file_is_told_and_the_others_run(replay: Replay, path: str, words: str) -> None:
    row = replay.rows[path]
    assert (row["status"], row["as_expected"]) == ("error", False)
    assert words in row["detail"]
    assert row["detail"] in replay.done.out
    assert row["hint"] in replay.done.out


def test_the_exit_code_and_both_signatures(replay: Replay) -> None:
    assert replay.done.code == 1
    assert "Traceback" not in replay.done.err
    moved = replay.done.out[replay.done.out.index("\nmoved ") :]
    assert re.match(
        r"\nmoved +changed, expected fails\nwas +RuntimeError: vmap: \.item\(\)\nis now +ValueError: neg is broken",
        moved,
    )
    assert replay.cost["measured"] == 1
    assert replay.cost["ratio"] > 0


def test_a_real_reader_takes_the_junit(replay: Replay) -> None:
    suites = JUnitXml.fromfile(str(replay.folder / "out.xml"))
    cases = {case.classname: case for suite in suites for case in suite}
    kinds = {path: [type(one).__name__ for one in case.result] for path, case in cases.items()}
    assert kinds["same.py"] == []
    assert kinds["moved.py"] == ["Failure"]
    assert kinds["newer_torch.py"] == ["Skipped"]
    assert kinds["edited.py"] == ["Error"]
    assert "neg is broken" in cases["moved.py"].result[0].text
    assert sum(suite.tests for suite in suites) == len(replay.rows)


def test_annotations_are_github_workflow_commands(replay: Replay) -> None:
    lines = [line for line in replay.done.out.splitlines() if line.startswith("::")]
    unexpected = [row for row in replay.rows.values() if not row["as_expected"]]
    assert len(lines) == len(unexpected)
    for line in lines:
        assert re.fullmatch(r"::(error|warning|notice) file=[^,:]+,line=1,title=[^,:]+::.+", line), line
    [moved] = [line for line in lines if "file=moved.py" in line]
    assert "was: RuntimeError: vmap: .item()%0Ais now: ValueError: neg is broken: a,b::c" in moved


def test_the_markdown_shows_what_happened(replay: Replay) -> None:
    text = (replay.folder / "out.md").read_text()
    assert "### `mended`: fixed" in text
    assert "| `same` | fails |" in text


def test_update_writes_what_was_found_into_the_tables_alone(replay: Replay, tmp_path: Path) -> None:
    for path in replay.folder.glob("*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    found = find([tmp_path])
    rows = [Replayed(**{**row, "path": str(tmp_path / path)}) for path, row in replay.rows.items() if "/" not in path]
    for path, text in updated(found, rows).items():
        Path(path).write_text(text)
    again = {case.name: case for case in find([tmp_path]).cases}
    for case in found.cases:
        new, row = again[case.name], next(row for row in rows if row.name == case.name)
        expected = new.expectation(row.torch, "cpu")
        assert not new.edited
        if row.detail.startswith("it needs"):
            assert new.text == case.text
        else:
            assert expected.status == row.status
            assert expected.failure == (row.found if row.status == "changed" else "")
    assert again["same"].text == (replay.folder / "same.py").read_text()


def test_the_newest_torch_sets_what_is_expected(tmp_path: Path) -> None:
    case = write_case(tmp_path, "one", PROGRAMS["same"])
    base = Replayed("one", str(case.path), "fixed", "fails", False, torch="2.13.0+cpu", device="cpu", python="new")
    old = replace(base, torch="2.0.1", status="fails", as_expected=True, python="old")
    assert expectations(case, [old, base]) == ("fixed", (Expectation("fails", "==2.0.1"),))
    seen = replace(case, first_seen={"torch": "2.13.0"})
    assert expectations(seen, [replace(old, status="fixed")]) == ("fails", (Expectation("fixed", "==2.0.1"),))
    changed = replace(base, status="changed", found="other")
    assert expectations(case, [old, changed]) == ("fails", (Expectation("changed", ">=2.13.0", failure="other"),))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nowhere", "nowhere does not exist"),
        (". -k (", "-k"),
        (". -k nothing_like_it", "leaves none of"),
        (". --shard 5/4", "--shard"),
        (". --jobs 0", "--jobs 0"),
        (". --python nope", "--python nope"),
        (". --device 8", "--device"),
        (". --json no/such/out.json", "--json"),
    ],
)
def test_a_wrong_command_is_one_line(tmp_path: Path, line: str, words: str) -> None:
    write_case(tmp_path, "one", PROGRAMS["same"])
    done = shrinkrepro("replay", *line.split(), cwd=tmp_path)
    assert done.code == 2
    assert words in done.err
    assert "hint: " in done.err


def test_uv_reads_and_edits_the_block(tmp_path: Path) -> None:
    uv = pytest.importorskip("uv", reason="uv is not installed")
    case = write_case(tmp_path, "one", PROGRAMS["same"])
    command = [uv.find_uv_bin(), "add", "--offline", "--frozen", "--script", str(case.path), "numpy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(read(case.path).dependencies) == {"torch>=2.0", "numpy"}
    assert not read(case.path).edited

"""The pytest plugin: cases as tests, and failing tests as scripts that fail the same with plain python."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import environment, says_one_error, shrinkrepro
from tests.tasks.test_replay import PROGRAMS, write_case

SUITE = Path(__file__).with_name("suite")

pytestmark = pytest.mark.torch


def run_pytest(*args: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as a user does, without this checkout's settings."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-c",
            os.devnull,
            "--rootdir",
            str(cwd),
            *map(str, args),
        ],
        cwd=cwd,
        env=environment(**env),
        capture_output=True,
        text=True,
        check=False,
    )


def test_cases_are_tests_also_for_xdist(tmp_path: Path) -> None:
    write_case(tmp_path, "same", PROGRAMS["same"], title="the item of a batch")
    write_case(tmp_path, "test_other", "x = 1")
    edited = write_case(tmp_path, "edited", PROGRAMS["same"])
    edited.path.write_text(edited.text.replace("ones(3)", "ones(4)"))
    (tmp_path / "test_ours.py").write_text("def test_mine():\n    pass\n")
    named = [tmp_path / "same.py", tmp_path / "test_other.py", tmp_path / "test_ours.py"]
    done = run_pytest("--shrinkrepro", "-n", "1", "-v", *named, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"PASSED same\.py::fails", done.stdout)
    assert re.search(r"FAILED test_other\.py::fails", done.stdout)
    assert re.search(r"PASSED test_ours\.py::test_mine", done.stdout)
    assert re.search(r"(?m)^test_other +fixed, expected fails\nwas +RuntimeError: vmap", done.stdout)
    broken = run_pytest("--shrinkrepro", "--collect-only", "-q", ".", cwd=tmp_path)
    assert "edited.py was edited since its table was written" in broken.stdout
    assert "same.py::fails" in broken.stdout


def test_off_unless_asked_for(tmp_path: Path) -> None:
    write_case(tmp_path, "same", PROGRAMS["same"])
    done = run_pytest("--collect-only", "-q", ".", cwd=tmp_path)
    assert done.returncode == 5, done.stdout


def test_a_failing_test_becomes_a_script_that_fails_with_plain_python(tmp_path: Path) -> None:
    tests = ["check_layers.py::test_gated[large-tanh]", "check_layers.py::test_gated[small-tanh]"]
    out = tmp_path / "out"
    options = ["--shrink-failures", "--shrink-dir", out, "--shrink-budget", "90s"]
    done = run_pytest(*options, *tests, "check_layers.py::test_no_torch_in_it", cwd=SUITE)
    assert done.returncode == 1
    assert "the same failure as check_layers.py::test_gated[" in done.stdout
    [script] = out.glob("*.py")
    assert str(script) in done.stdout
    text = script.read_text()
    assert "pytest" not in text
    assert len(list(ast.walk(ast.parse(text)))) < 60
    plain = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert plain.returncode == 1
    assert "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow" in plain.stderr


SCRIPTS = """
import json, pytest, sys
from shrinkrepro.tasks.testscript.script import script_of

class Scripts:
    def pytest_collection_finish(self, session):
        found = {item.nodeid.partition("::")[2]: script_of(item) for item in session.items}
        json.dump(found, open(sys.argv[1], "w"))

pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "check_layers.py"], plugins=[Scripts()])
"""


def test_values_are_written_as_a_person_would(tmp_path: Path) -> None:
    out = tmp_path / "scripts.json"
    subprocess.run([sys.executable, "-c", SCRIPTS, out], cwd=SUITE, check=True, capture_output=True)
    scripts = json.loads(out.read_text())
    assert {script["folder"] for script in scripts.values()} == {str(SUITE)}
    wanted = {
        "test_gated[small-<lambda>]": ["test_gated(batch=batch_value, weight=weight_value, op=lambda x: x ** 2)"],
        "test_gated[large-relu]": ["test_gated(batch=batch_value, weight=weight_value, op=torch.relu)"],
        "test_healthy[3-2-dtype1]": ["test_healthy(n=2, dtype=torch.float64, power=3)"],
        "TestNorm::test_cdist[2]": ["instance.setup_method()", "instance.test_cdist(size=2)"],
    }
    for test, lines in wanted.items():
        assert scripts[test]["source"].splitlines()[-len(lines) :] == lines


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("check_layers.py::test_gated", ("6 tests are collected",)),
        ("empty.py::test_x", ("pytest cannot collect empty.py::test_x",)),
        ("nothing.py::test_x", ("nothing.py does not exist",)),
    ],
)
def test_a_wrong_id_is_one_line(test: str, words: tuple[str, ...]) -> None:
    says_one_error(shrinkrepro("reduce", test, cwd=SUITE), 2, *words)

"""A strategy package of a third party, installed as its users would: found, run, and named where it raises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import says_one_error, shrinkrepro

PACKAGE = Path(__file__).parents[1] / "third_party"
SCRIPT = """\
import torch

matrix = torch.zeros(2, 3)
print(matrix.shape)
inverted = torch.linalg.inv(matrix)
print(inverted)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of its own that the package is installed in; its build needs no network."""
    folder = tmp_path_factory.mktemp("third-party")
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--no-cache"]
    subprocess.run([*command, "--python", sys.executable, "--target", str(folder), str(PACKAGE)], check=True)
    return folder


def test_its_strategies_are_listed_in_their_tiers(installed: Path, tmp_path: Path) -> None:
    listed = shrinkrepro("strategies", cwd=tmp_path, PYTHONPATH=str(installed))
    own = [line for line in listed.out.splitlines() if "shorter name of a function of torch.linalg" in line]
    assert len(own) == 1
    assert own[0].split()[:2] == ["coarse", "plainer-linalg"]
    without = shrinkrepro("strategies", cwd=tmp_path, PYTHONPATH=str(installed), SHRINKREPRO_NO_PLUGINS="1")
    assert "plainer-linalg" not in without.out
    assert "drop-unexecuted" in without.out


@pytest.mark.torch
@pytest.mark.slow
def test_it_runs_and_those_that_raise_are_named_while_the_reduction_goes_on(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    args = ("reduce", "script.py", "-o", "out.py", "--jobs", "1", "--json", "out.json", "--no-color")
    done = shrinkrepro(*args, cwd=tmp_path, PYTHONPATH=str(installed))
    result = json.loads((tmp_path / "out.json").read_text())
    assert "plainer-linalg" in [name for name, _ in result["steps"]]
    assert "inverse(" in (tmp_path / "out.py").read_text()
    assert (result["ended"], result["confirmed"]) == ("minimal", 3)
    assert done.code == 70  # a strategy is at fault, and a caller should learn of it
    assert "__init__.py" not in done.out + done.err  # one line each, not the traceback
    lines = [line for line in (done.out + done.err).splitlines() if "raised and was switched off" in line]
    assert len(lines) == 2
    assert "shape-guess: AttributeError: " in lines[0]
    assert "text-not-edits: TypeError: " in lines[1]


def test_a_package_that_cannot_be_imported_is_named_with_the_way_out(installed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    (broken / "plainer_linalg").mkdir(parents=True)
    (broken / "plainer_linalg" / "__init__.py").write_text("import a_module_that_nobody_has\n")
    (tmp_path / "script.py").write_text("1 / 0\n")
    path = f"{broken}:{installed}"
    done = shrinkrepro("reduce", "script.py", cwd=tmp_path, PYTHONPATH=path)
    says_one_error(done, 2, "plainer-linalg", "a_module_that_nobody_has", "SHRINKREPRO_NO_PLUGINS=1")


def test_a_strategy_is_left_out_by_name(installed: Path, tmp_path: Path) -> None:
    path = {"PYTHONPATH": str(installed)}
    done = shrinkrepro("strategies", cwd=tmp_path, SHRINKREPRO_WITHOUT="plainer-linalg, drop-name", **path)
    names = [line.split()[1] for line in done.out.splitlines()]
    assert "shape-guess" in names
    assert not {"plainer-linalg", "drop-name"} & set(names)
    done = shrinkrepro("strategies", cwd=tmp_path, SHRINKREPRO_WITHOUT="drop-nothing", **path)
    says_one_error(done, 2, "drop-nothing", "shrinkrepro strategies")

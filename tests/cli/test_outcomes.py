"""Runs as a new user would make them: each outcome has its exit code and its words, and no input is ever changed."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from shrinkrepro.session import Reduction
from tests.cli.command import Done, folder_hash, says_one_error, shrinkrepro, start

pytestmark = [pytest.mark.torch, pytest.mark.slow]

MAIN = """\
import torch
from torch.func import vmap

from scaling import scale

with open("data.txt") as file:
    numbers = [float(line) for line in file]


def step(x, factor=2.0):
    y = scale(x, factor)
    if y.sum() > 0:
        return y
    return -y


points = torch.tensor(numbers).reshape(2, 2)
print("points", points.shape)
result = vmap(step)(points)
print(result)
"""
SCALING = """\
def scale(x, factor):
    \"\"\"Scale x.\"\"\"
    return x * factor
"""
# one run in three, by numbers that nobody can seed
FLAKY = """\
import os, torch
if os.urandom(1)[0] < 256 / 3:
    torch.ones(2) @ torch.ones(3)
"""
# by numbers that can be seeded
UNSEEDED = """\
import torch
from torch.func import vmap
x = torch.rand(3)
if x.sum() < 1.2:
    vmap(float)(x)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "main.py").write_text(MAIN)
    (folder / "scaling.py").write_text(SCALING)
    (folder / "data.txt").write_text("1\n2\n3\n4\n")
    return folder


@dataclasses.dataclass(frozen=True)
class Reduced:
    """One whole run of ``reduce``, which several tests look at."""

    done: Done
    out: Path
    record: Path
    before: dict[str, str]
    after: dict[str, str]


@pytest.fixture(scope="module")
def reduced(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Reduced:
    out = tmp_path_factory.mktemp("out")
    before = folder_hash(project)
    done = shrinkrepro("reduce", "main.py", "-o", out / "small.py", "--json", out / "run.json", cwd=project)
    return Reduced(done, out / "small.py", out / "run.json", before, folder_hash(project))


def test_a_reduction_ends_with_0_and_what_it_shows_is_what_it_wrote(reduced: Reduced) -> None:
    assert reduced.done.code == 0, reduced.done.err
    text = reduced.out.read_text()
    assert text.rstrip("\n") in reduced.done.out
    for word in ("data-dependent", str(reduced.out), "3 of 3", "minimal"):
        assert word in reduced.done.out
    assert "reducing" in reduced.done.err
    assert "\x1b" not in reduced.done.out + reduced.done.err


def test_the_result_is_one_small_file_that_fails_the_same(reduced: Reduced, tmp_path: Path) -> None:
    text = reduced.out.read_text()
    assert "scaling" not in text
    assert "data.txt" not in text
    assert len(text) < len(MAIN) / 3
    again = subprocess.run([sys.executable, reduced.out], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "data-dependent control flow" in again.stderr


def test_json_holds_every_field_of_the_reduction(reduced: Reduced) -> None:
    record = json.loads(reduced.record.read_text())
    assert list(record) == [field.name for field in dataclasses.fields(Reduction)]
    assert record["source"] == reduced.out.read_text()
    assert record["tokens_after"] < record["tokens_before"]
    assert record["counts"]["run"] > 0


def test_no_input_is_changed_and_nothing_is_left_beside_it(reduced: Reduced) -> None:
    assert reduced.after == reduced.before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_no_input_is_changed_by_a_run_that_is_stopped(
    project: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    before = folder_hash(project)
    process = start("reduce", "main.py", "-o", tmp_path / "small.py", cwd=project)
    assert process.stderr is not None
    assert any(line.rstrip().endswith("reducing") for line in process.stderr)
    assert "tokens" in next(process.stderr)  # the first thing that it found
    os.kill(process.pid, number)
    process.communicate(timeout=300)
    assert process.returncode == code
    assert folder_hash(project) == before
    # a run that was asked to stop gives its best so far as the result; one that was killed leaves it by its own name
    left = tmp_path / ("small.py" if number == signal.SIGINT else "small.partial.py")
    assert list(tmp_path.iterdir()) == [left]
    compile(left.read_text(), left.name, "exec")


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("import torch\nprint('sum', torch.ones(2).sum().item())\n", 3, ("does not fail", "sum 2.0")),
        ("import torch\ndef test_a():\n    assert torch.ones(1) == 2\n", 3, ("nothing calls", "script.py::test_a")),
        (
            "import argparse, torch\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\n"
            "p.parse_args()\n",
            6,
            ("--data", "-- "),
        ),
        ("import torch\nscale = float(input('scale? '))\n", 6, ("standard input",)),
        ("import torch\ntorch.load('weights.pt')\n", 6, ("weights.pt",)),
        ("import torch\nimport no_such_package.part\n", 6, ("no_such_package",)),
    ],
    ids=["passes", "is-a-test-file", "needs-an-argument", "reads-stdin", "missing-data", "missing-package"],
)
def test_a_script_with_nothing_to_reduce(folder: Path, text: str, code: int, words: tuple[str, ...]) -> None:
    (folder / "script.py").write_text(text)
    says_one_error(shrinkrepro("reduce", "script.py", cwd=folder), code, *words)
    assert [path.name for path in folder.iterdir()] == ["script.py"]


def test_a_script_that_fails_one_time_in_three(folder: Path) -> None:
    (folder / "script.py").write_text(FLAKY)
    done = shrinkrepro("reduce", "script.py", "--json", "run.json", cwd=folder)
    assert done.code == 0, done.err
    assert "fails only sometimes" in done.err
    record = json.loads((folder / "run.json").read_text())
    before, after = (record[name]["failed"] / record[name]["runs"] for name in ("rate_before", "rate"))
    assert 0.2 < before < 0.5
    assert after > 0.8 * before
    assert "@" in (folder / "script_reduced.py").read_text()


def test_a_script_that_needs_its_random_numbers(folder: Path) -> None:
    (folder / "script.py").write_text(UNSEEDED)
    done = shrinkrepro("reduce", "script.py", cwd=folder)
    assert done.code == 0, done.err
    assert "some random numbers only" in done.out + done.err
    assert (folder / "script_reduced.py").read_text() == "import torch\n\ntorch.vmap(float)(torch.zeros(1))\n"


def test_a_target_without_torch(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    bare = tmp_path_factory.mktemp("bare")
    venv.create(bare, with_pip=False)
    (folder / "script.py").write_text("import torch\ntorch.ones(2) @ torch.ones(3)\n")
    done = shrinkrepro("reduce", "script.py", "--python", bare / "bin" / "python", cwd=folder)
    says_one_error(done, 5, str(bare / "bin" / "python"), "pip install torch")


def test_check_says_what_fails_where_and_how_often(project: Path) -> None:
    before = folder_hash(project)
    done = shrinkrepro("check", "main.py", cwd=project)
    assert done.code == 0, done.err
    for word in ("RuntimeError: vmap: ", "main.py:12", "5 of 5", "deterministic", "before the failing call", "scaling"):
        assert word in done.out
    assert "keep what, like the script, passes when every transform is replaced by the plain function" in done.out
    assert folder_hash(project) == before


def test_check_of_a_script_that_passes(folder: Path) -> None:
    (folder / "script.py").write_text("import torch\n")
    says_one_error(shrinkrepro("check", "script.py", cwd=folder), 3, "does not fail")


def test_quiet_prints_nothing(folder: Path) -> None:
    (folder / "script.py").write_text(
        "import torch\nx = torch.ones(3)\ntorch.func.jvp(torch.bernoulli, (x,), (x, x))\n"
    )
    done = shrinkrepro("reduce", "script.py", "--quiet", "--jobs", "1", cwd=folder)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (folder / "script_reduced.py").exists()


def test_a_strategy_that_raises_is_named_and_the_run_is_finished_without_it(folder: Path) -> None:
    info = folder / "acme_repro-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-repro\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[shrinkrepro.strategies]\nacme = acme_repro:STRATEGIES\n")
    (folder / "acme_repro.py").write_text(
        "from shrinkrepro import Tier, strategy\n"
        "@strategy('drop-acme', tier=Tier.COARSE)\n"
        "def drop_acme(program, facts):\n"
        "    'Delete what Acme adds.'\n"
        "    raise KeyError('acme')\n"
        "    yield\n"
        "STRATEGIES = (drop_acme,)\n"
    )
    (folder / "script.py").write_text("import torch\nx = torch.ones(2)\nprint(x)\nx @ torch.ones(3)\n")
    done = shrinkrepro("reduce", "script.py", cwd=folder, PYTHONPATH=str(folder))
    assert done.code == 70, done.err
    assert "drop-acme" in done.out
    assert "KeyError" in done.out
    assert (folder / "script_reduced.py").exists()


def test_a_control_that_the_script_fails_too(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import torch\nassert torch.vmap(torch.sin)(torch.ones(2)).sum() == 3\n")
    done = shrinkrepro("reduce", "own.py", "--control", "primal", "--control", "eager", "--jobs", "1", cwd=tmp_path)
    says_one_error(done, 2, "control primal", "the plain function", "AssertionError", "leave --control out")
    assert not (tmp_path / "own_reduced.py").exists()

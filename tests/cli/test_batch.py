"""``shrinkrepro batch``: one bug of two scripts, killed in the middle; and what it says when it cannot work."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shrinkrepro.corpus.case import read
from tests.cli.command import environment, says_one_error, shrinkrepro, start

FAILS = """\
import torch


def total(v):
    print("rows", {number})
    return v.sum().item() * {number}


values = torch.ones({number}, 2)
print(torch.func.vmap(total)(values))
"""
SECONDS = 240.0  # a backstop


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "one.py").write_text(FAILS.format(number=3))
    (folder / "two.py").write_text("import math\n" + FAILS.format(number=4) + "print(math.pi)\n")
    (folder / "needs.py").write_text("import torch\nimport a_module_that_nobody_has\n")
    (folder / "half.py").write_text("import torch\nx = torch.ones(3\n")
    return folder


@pytest.mark.torch
@pytest.mark.slow
def test_a_batch_that_is_killed_goes_on_and_ends_with_one_case_for_a_bug(scripts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("batch", scripts, "-o", out, "--jobs", "1", "--budget", "1m")
    killed = start(*command, cwd=tmp_path)
    try:
        _wait_for(lambda: any(one["checked"] for one in _records(out)), killed)
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
    before = {one["name"]: one for one in _records(out) if one["status"] == "checked"}
    done = shrinkrepro(*command, cwd=tmp_path)
    assert done.code == 0, done.err
    index = json.loads((out / "index.json").read_text())
    rows = {row["name"]: row for row in index["rows"]}
    assert {name: row["status"] for name, row in rows.items()} == {
        "one.py": "reduced", "two.py": "same bug", "needs.py": "refused", "half.py": "refused"
    }  # fmt: skip
    assert "syntax error" in rows["half.py"]["why"]
    assert "a_module_that_nobody_has" in rows["needs.py"]["why"]
    [group] = index["groups"]
    assert group["scripts"] == ["one.py", "two.py"]
    case = read(out / group["file"])
    assert "item()" in case.failure
    assert case.reduction["original"] == "one.py"
    for page in ("index.md", "index.html"):
        assert group["file"] in (out / page).read_text()
    after = {one["name"]: one for one in _records(out)}
    assert before
    assert all(after[name]["seconds"]["check"] == one["seconds"]["check"] for name, one in before.items())


def _records(out: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted((out / "scripts").glob("*.json"))]


def _wait_for(holds: object, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():  # type: ignore[operator]
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = shrinkrepro("batch", "empty", "-o", "out", cwd=tmp_path)
    says_one_error(done, 2, "no Python script in empty", "--from")
    assert not (tmp_path / "out").exists()


def test_a_list_with_a_broken_line(tmp_path: Path) -> None:
    (tmp_path / "list.jsonl").write_text('{"source": "import torch\\n"}\n{"path": \n')
    done = shrinkrepro("batch", "--from", "list.jsonl", "-o", "out", cwd=tmp_path)
    says_one_error(done, 2, "list.jsonl, line 2", "is no JSON")


def test_a_folder_that_is_not_ours(scripts: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "main.tex").write_text("x")
    done = shrinkrepro("batch", scripts, "-o", "thesis", cwd=tmp_path)
    says_one_error(done, 2, "thesis has other files in it")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["main.tex"]


def test_options_that_cannot_work(scripts: Path, tmp_path: Path) -> None:
    done = shrinkrepro("batch", scripts, "-o", "out", "--address", "node:6379", cwd=tmp_path)
    says_one_error(done, 2, "--executor ray")
    assert not (tmp_path / "out").exists()


def _in_small_disk(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell command with a disk of 16 KB at ``folder``, in a mount namespace of its own."""
    made = f"mount -t tmpfs -o size=16k none {folder}"
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{made} && {command}"],
        capture_output=True, text=True, timeout=SECONDS, env=environment(), cwd=folder.parent
    )  # fmt: skip


def test_a_full_disk(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    if shutil.which("unshare") is None or _in_small_disk("true", folder).returncode:
        pytest.skip("no mount namespaces here")
    (tmp_path / "many").mkdir()
    for number in range(12):  # whose records alone do not fit
        (tmp_path / "many" / f"s{number}.py").write_text(f"import torch\nx{number} = (\n")
    done = _in_small_disk(f"{sys.executable} -m shrinkrepro batch many -o small", folder)
    errors = [line for line in done.stderr.splitlines() if line.startswith(("error: ", "hint: "))]
    assert done.returncode == 2, done.stderr
    assert len(errors) == 2
    assert "No space left on device" in errors[0]
    assert "the same command goes on" in errors[1]
    assert "Traceback" not in done.stderr

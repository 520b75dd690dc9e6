"""A run that was killed is taken up by the same command, and ends with the text of a run that was not."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shrinkrepro import api
from shrinkrepro.errors import ShrinkReproError
from shrinkrepro.session.best import MARK, partial_path

pytestmark = [pytest.mark.torch, pytest.mark.slow]

# No torch in it: a fresh run takes no time, and it is the run that is looked at, not the failure.
SCRIPT = """\
import json
class Reader:
    def __init__(self, text, times):
        self.text = text
        self.times = times
    def read(self):
        for i in range(self.times):
            part = self.text * (i + 1)
            if i == 1:
                return json.loads(part)
        return None
reader = Reader('[1, 2', 3)
print('reading', reader.times)
value = reader.read()
print(value)
"""
KILLS = (19,)  # executions after which it dies: an odd one is lost; make kill-test has fifty moments


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    (folder / "script.py").write_text(SCRIPT)
    return folder


def reduced(folder: Path, out: str, dies_at: int) -> tuple[int, str]:
    driver = Path(__file__).with_name("killed.py")
    command = [sys.executable, driver, "script.py", out, str(dies_at)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == (-9 if dies_at else 0), run.stderr
    return run.returncode, run.stdout


def number(name: str, text: str) -> int:
    found = re.search(rf"{name} (\d+)", text)
    assert found is not None, text
    return int(found[1])


def test_killed_and_resumed_ends_as_unbroken(folder: Path) -> None:
    _, whole = reduced(folder, "unbroken.py", 0)
    executed = 0
    for last in KILLS:
        _, said = reduced(folder, "killed.py", last)
        executed += last - last % 2  # an odd one dies before its last execution is kept
    partial = partial_path(folder / "killed.py")
    assert partial.read_text().startswith(MARK)
    compile(partial.read_text(), partial.name, "exec")
    assert not (folder / "killed.py").exists()
    _, said = reduced(folder, "killed.py", 0)
    assert f"resumed: {executed} verdicts" in said
    assert number("resumed", said.replace("resumed: ", "")) > 10
    # at most one query is made twice for each worker and kill
    assert executed + number("kept", said) <= number("kept", whole) + len(KILLS)
    assert (folder / "killed.py").read_bytes() == (folder / "unbroken.py").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["killed.py", "script.py", "unbroken.py"]


class Meddler(api.Silent):
    """Does something at the first smaller program, and keeps the notes."""

    def __init__(self, meddle: object) -> None:
        self.notes: list[str] = []
        self.steps = 0
        self._meddle = meddle

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)

    def step(self, strategy: str, source: str, tokens: int) -> None:
        """Meddle."""
        self.steps += 1
        if self.steps == 2:
            assert callable(self._meddle)
            self._meddle()


def test_an_output_folder_that_vanishes(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "out").mkdir()
    meddler = Meddler(lambda: shutil.rmtree(tmp_path / "out"))
    done = api.reduce(
        tmp_path / "script.py", out=tmp_path / "out" / "x.py", jobs=1, anyway=True, fresh=True, progress=meddler
    )
    assert done.confirmed == done.confirmations
    assert "x.py cannot be written" in done.unwritten
    assert len([note for note in meddler.notes if "x.partial.py cannot be written" in note]) == 1
    # what was found is in the journal: the same command with another name for the result has it at once
    again = api.reduce(tmp_path / "script.py", out=tmp_path / "y.py", jobs=1, anyway=True)
    assert (again.source, again.counts.run, again.unwritten) == (done.source, 0, "")
    assert (tmp_path / "y.py").read_text() == done.source


def test_a_script_folder_that_vanishes(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "script.py").write_text(SCRIPT)
    meddler = Meddler(lambda: shutil.rmtree(tmp_path / "in"))
    script, out = tmp_path / "in" / "script.py", tmp_path / "x.py"
    with pytest.raises(ShrinkReproError) as raised:
        api.reduce(script, out=out, cwd=tmp_path / "in", jobs=1, anyway=True, progress=meddler)
    assert str(tmp_path / "in") in raised.value.message
    assert "x.partial.py" in raised.value.hint
    assert partial_path(out).read_text().startswith(MARK)

"""A run that was killed is taken up by the same command, and ends with the text of a run that was not."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from shrinkrepro import api
from shrinkrepro.errors import ShrinkReproError
from shrinkrepro.session import Reduction
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
KILLED_AT = 19  # executions; make kill-test has fifty moments


def reduced(folder: Path, out: str, dies_at: int) -> str:
    driver = Path(__file__).with_name("killed.py")
    command = [sys.executable, driver, "script.py", out, str(dies_at)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == (-9 if dies_at else 0), run.stderr
    return run.stdout


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found is not None, text
    return int(found[1])


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


@dataclass(frozen=True)
class Unbroken:
    """A run that was not killed, but could not write its result."""

    done: Reduction
    notes: list[str]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Unbroken:
    folder = tmp_path_factory.mktemp("unbroken")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "out").mkdir()
    meddler = Meddler(lambda: shutil.rmtree(folder / "out"))
    out = folder / "out" / "x.py"
    done = api.reduce(folder / "script.py", out=out, cwd=folder, jobs=1, anyway=True, progress=meddler)
    return Unbroken(done, meddler.notes)


def test_an_output_folder_that_vanishes(unbroken: Unbroken) -> None:
    assert unbroken.done.confirmed == unbroken.done.confirmations
    assert "x.py cannot be written" in unbroken.done.unwritten
    assert len([note for note in unbroken.notes if "x.partial.py cannot be written" in note]) == 1
    assert not any("resumed" in note for note in unbroken.notes)


def test_killed_and_resumed_ends_as_unbroken(tmp_path: Path, unbroken: Unbroken) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    reduced(tmp_path, "x.py", KILLED_AT)
    kept = KILLED_AT - KILLED_AT % 2  # an odd one dies before its last execution is kept
    partial = partial_path(tmp_path / "x.py")
    assert partial.read_text().startswith(MARK)
    compile(partial.read_text(), partial.name, "exec")
    assert not (tmp_path / "x.py").exists()
    said = reduced(tmp_path, "x.py", 0)
    assert f"note: resumed: {kept} verdicts" in said
    # nothing that was kept is run again, so that one query a worker is made twice at most
    run, resumed = number(r"run (\d+)", said), number(r" resumed (\d+)", said)
    assert resumed > KILLED_AT / 2
    assert run + resumed == unbroken.done.counts.run
    assert (tmp_path / "x.py").read_text() == unbroken.done.source
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.py", "x.py"]


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

"""The journal: what it answers, and that nothing that happens to its file stops a run."""

from __future__ import annotations

import json
import resource
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkrepro.session import journal as journals
from shrinkrepro.session.journal import Journal, journal_path
from shrinkrepro.session.request import Request

Said = list[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journals" / "one.db"


def opened(path: Path) -> tuple[Journal, Said]:
    said: Said = []
    return Journal(path, said.append), said


@settings(max_examples=12)  # each is two files
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers()), max_size=12), st.integers(0, 12))
def test_a_second_run_is_answered_in_the_turns_of_the_first(asked: list[tuple[str, int]], killed_at: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        first, _ = opened(Path(folder) / "x.db")
        for question, answer in asked[:killed_at]:
            ticket, known = first.recall(question)
            assert known is None
            first.keep(ticket, {"answer": answer})
        first.close()
        second, said = opened(Path(folder) / "x.db")
        for at, (question, answer) in enumerate(asked):
            _, known = second.recall(question)
            assert known == ({"answer": answer} if at < killed_at else None)
        assert second.recalled == min(killed_at, len(asked))
        assert said == []
        second.close()


def test_a_turn_that_was_not_kept_is_asked_again_and_the_others_stay(path: Path) -> None:
    first, _ = opened(path)
    tickets = [first.recall("q")[0] for _ in range(3)]
    first.keep(tickets[2], "third")
    first.keep(tickets[0], "first")
    first.close()
    second, _ = opened(path)
    assert [second.recall("q")[1] for _ in range(4)] == ["first", None, "third", None]


def test_two_at_once(path: Path) -> None:
    first, _ = opened(path)
    second, said = opened(path)
    assert len(said) == 1
    assert "running already" in said[0]
    second.keep(second.recall("q")[0], 2)
    first.keep(first.recall("q")[0], 1)
    second.remove()
    assert path.exists()
    first.close()
    assert opened(path)[0].recall("q")[1] == 1


@pytest.mark.parametrize("how", ["no database", "torn", "empty"])
def test_a_damaged_one_starts_anew_with_one_line(path: Path, how: str) -> None:
    first, _ = opened(path)
    for i in range(200):
        first.keep(first.recall(f"q{i}")[0], ["x" * 100, i])
    first.close()
    data = path.read_bytes()
    path.write_bytes({"no database": b"junk" * 1000, "torn": data[: len(data) // 2], "empty": b""}[how])
    second, said = opened(path)
    assert len(said) == (how != "empty")
    assert all("damaged" in line for line in said)
    ticket, known = second.recall("q7")
    assert known is None
    second.keep(ticket, 7)
    second.close()
    assert opened(path)[0].recall("q7")[1] == 7


def test_an_answer_that_rotted_is_asked_again(path: Path) -> None:
    first, _ = opened(path)
    first.keep(first.recall("q")[0], 1)
    first.close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE answers SET answer = x'00112233'")
    database.close()
    second, said = opened(path)
    assert second.recall("q")[1] is None
    assert said == []


def test_where_no_folder_can_be_made_the_run_goes_on_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    journal, said = opened(tmp_path / "file" / "journals" / "one.db")
    journal.keep(journal.recall("q")[0], 1)
    journal.step("s", "x")
    journal.remove()
    assert len(said) == 1
    assert str(tmp_path / "file") in said[0]


_FULL = """
import resource, sys
from pathlib import Path
from shrinkrepro.session.journal import Journal
journal = Journal(Path(sys.argv[1]), lambda line: print("note:", line))
journal.keep(journal.recall("early")[0], 0)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
import random
for i in range(300):
    journal.keep(journal.recall(f"q{i}")[0], random.Random(i).randbytes(1000).hex())
journal.close()
print("went on")
"""


def test_a_disk_that_fills_up_is_told_once_and_what_was_kept_stays(path: Path) -> None:
    assert resource.RLIMIT_FSIZE
    run = subprocess.run([sys.executable, "-c", _FULL, path], capture_output=True, text=True, check=False)
    notes = [line for line in run.stdout.splitlines() if line.startswith("note: ")]
    assert run.stdout.endswith("went on\n"), run.stderr
    assert len(notes) == 1, run.stdout
    assert "the journal cannot go on" in notes[0]
    journal, said = opened(path)
    assert journal.recall("early")[1] == 0
    assert said == []


def test_the_path_depends_on_all_that_a_result_depends_on(tmp_path: Path) -> None:
    request = Request(script=tmp_path / "x.py")
    known = {journal_path(request, tmp_path / "x.py", "text", {})}
    preload = tmp_path / "preload.py"
    preload.write_text("1")
    for other in (
        replace(request, match="type"),
        replace(request, seed=1),
        replace(request, controls=("none",)),
        replace(request, args=("x",)),
        replace(request, python="other"),
        replace(request, cwd=tmp_path / "y"),
        replace(request, preload=preload),
    ):
        known.add(journal_path(other, tmp_path / "x.py", "text", {}))
    known.add(journal_path(request, tmp_path / "y.py", "text", {}))
    known.add(journal_path(request, tmp_path / "x.py", "other text", {}))
    known.add(journal_path(request, tmp_path / "x.py", "text", {"local": "x"}))
    preload.write_text("2")
    known.add(journal_path(replace(request, preload=preload), tmp_path / "x.py", "text", {}))
    assert len(known) == 12
    same = replace(request, budget=3.0, jobs=7, fresh=True, output=tmp_path / "out.py")
    assert journal_path(same, tmp_path / "x.py", "text", {}) in known


def test_the_oldest_are_swept_but_none_that_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "KEPT", 2)
    live, _ = opened(tmp_path / "0.db")
    live.keep(live.recall("q")[0], 0)
    for i in range(1, 6):
        journal, _ = opened(tmp_path / f"{i}.db")
        journal.keep(journal.recall("q")[0], i)
        journal.close()
    names = {path.name for path in tmp_path.glob("*.db")}
    assert names == {"0.db", "3.db", "4.db", "5.db"}
    live.close()
    assert opened(tmp_path / "0.db")[0].recall("q")[1] == 0


def test_one_without_an_answer_leaves_no_file(path: Path) -> None:
    opened(path)[0].close()
    assert list(path.parent.iterdir()) == []


def test_questions_are_told_apart_by_their_full_digest(path: Path) -> None:
    journal, _ = opened(path)
    tickets = [journal.recall(json.dumps(["q", i]))[0] for i in range(50)]
    assert Counter(len(digest) for digest, _ in tickets) == {32: 50}
    assert len(set(tickets)) == 50

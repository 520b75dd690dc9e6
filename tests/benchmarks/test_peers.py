"""The comparison with other reducers: what is recorded, resumed and told. The peers themselves are not needed."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.breakdown import Breakdown
from benchmarks.index import Case
from benchmarks.peers import comparing, document, plot, rows
from benchmarks.peers.__main__ import main, planned
from benchmarks.peers.asking import Asking, Record
from benchmarks.peers.clock import processor_seconds
from benchmarks.peers.judging import FRESH, INTERESTING, NO_PROGRAM, OTHER, SERVED, Judging
from benchmarks.peers.rows import OURS, Row
from benchmarks.peers.subjects import PLACES, Subject, drawn, select
from benchmarks.peers.tools import PEERS, named

BUDGETS = {"reduce": 300.0, SERVED: 120.0, FRESH: 300.0}


def row(
    peer: str, after: int | None, *curve: tuple[float, float, int, int], mode: str = SERVED, truth: str = "same"
) -> Row:
    """A row of one script."""
    return Row(
        subject="ad01",
        kind="exception",
        peer=peer,
        mode="reduce" if peer == OURS else mode,
        budget=120.0,
        before=500,
        by_hand=20,
        after=after,
        curve=curve,
        queries=100,
        seconds=100.0,
        wall=50.0,
        fresh=(2.0, 3.0),
        ended="finished",
        truth=truth,
        version="1.0",
        torch="2.13.0",
        date="2026-12-01T05:00:00+00:00",
        machine={"cpu": "a", "cores": 2, "system": "Linux", "load": 1.5},
    )


class SaysYes:
    """Finds interesting whatever has an ``x``."""

    def ask(self, text: str, mode: str, until: float) -> str:
        """The verdict."""
        return INTERESTING if "x" in text else OTHER


def test_the_client_asks_and_the_record_is_kept(tmp_path: Path) -> None:
    asking = Asking(SaysYes(), SERVED, tmp_path, time.monotonic() + 60)
    codes = []

    def ask() -> None:
        for name, text in (("candidate.py", "x = 1 + 1"), ("other.py", "y = 1"), ("third.py", "x")):
            (tmp_path / name).write_text(text)
            argv = [str(asking.client), *([name] if name != "candidate.py" else [])]
            codes.append(subprocess.run(argv, cwd=tmp_path, check=False).returncode)

    peer = threading.Thread(target=ask)
    peer.start()
    while peer.is_alive():
        asking.answer()
    asking.close()
    assert codes == [0, 1, 0]
    assert [point[2:] for point in asking.record.curve] == [(1, 5), (3, 1)]
    assert (asking.record.queries, asking.record.best) == (3, "x")


@given(st.lists(st.sampled_from(["a", "a + a", "a + a + a", "'unclosed"]), max_size=20))
def test_a_record_only_falls(texts: list[str]) -> None:
    record = Record((0.0, 0.0))
    for number, text in enumerate(texts):
        record.note(text, INTERESTING, float(number), lambda: 1.0)
    sizes = [tokens for *_, tokens in record.curve]
    assert sizes == sorted(set(sizes), reverse=True)
    assert record.queries == len(texts)


def test_rows_come_back_and_the_latest_of_a_run_counts(tmp_path: Path) -> None:
    first, other = row("cvise", 50, (1.0, 9.0, 1, 500), (9.5, 9.0, 80, 50)), row("picire", 60)
    later = dataclasses.replace(first, after=40, date="2026-12-02T05:00:00+00:00")
    for one in (first, other, later):
        rows.append(one, tmp_path)
    assert rows.load(tmp_path) == [later, other]


def test_a_broken_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "2026-12-01.jsonl").write_text('{"subject": "ad01"}\n')
    with pytest.raises(ValueError, match=r"2026-12-01\.jsonl, line 1"):
        rows.load(tmp_path)
    done = CliRunner().invoke(_command(), ["--to", str(tmp_path)])
    assert done.exit_code == 2
    assert "line 1" in done.output


def test_a_run_that_has_a_row_is_not_made_again(tmp_path: Path) -> None:
    [subject] = select(["ad01_"])
    rows.append(dataclasses.replace(row(OURS, 79), subject=subject.name, budget=900.0), tmp_path)
    done = CliRunner().invoke(_command(), ["--to", str(tmp_path), "--only", "ad01_", "--modes", "reduce"])
    assert done.exit_code == 0
    assert "1 runs, 1 of them made before" in done.output
    assert len(rows.load(tmp_path)) == 1


def _command() -> typer.Typer:
    app = typer.Typer()
    app.command()(main)
    return app


@pytest.mark.parametrize("options", [["--peers", "creduce"], ["--only", "nothing"], ["--modes", "warm"]])
def test_a_wrong_name_is_told(options: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(_command(), [*options, "--to", str(tmp_path)])
    assert done.exit_code == 2
    assert options[1] in done.output


def test_scripts_are_drawn_within_kinds_and_always_the_same() -> None:
    subjects = drawn()
    assert subjects == drawn()
    for kind, places in PLACES.items():
        assert sum(subject.kind == kind for subject in subjects) == places
    assert drawn(9) != subjects
    assert select(["ad01_"])[0].name.startswith("ad01_")


def test_ours_comes_first_and_every_peer_gets_every_script() -> None:
    subjects = drawn()[:2]
    plan = planned(subjects, named(["cvise", "picire"]), ["reduce", SERVED, FRESH], BUDGETS)
    assert [(peer.name if peer else OURS, mode) for _, peer, mode, _ in plan] == [
        *[(OURS, "reduce")] * 2,
        *[("cvise", SERVED), ("picire", SERVED)] * 2,
        *[("cvise", FRESH), ("picire", FRESH)] * 2,
    ]


def test_a_race_is_run_to_the_peers_end() -> None:
    mine = row(OURS, 20, (4.0, 9.0, 1, 500), (10.0, 9.0, 90, 45), (20.0, 9.0, 200, 20))
    found = comparing.race(mine, row("cvise", 50, (1.0, 9.0, 1, 500), (90.0, 9.0, 80, 50)))
    assert found is not None
    assert (found.size, found.theirs, found.ours, found.times) == (50, 90.0, 10.0, 9.0)
    assert comparing.race(mine, row("cvise", 5, (1.0, 9.0, 1, 500), (90.0, 9.0, 80, 5), truth="slipped")) is None
    smaller = comparing.race(mine, row("cvise", 10, (1.0, 9.0, 1, 500), (90.0, 9.0, 80, 10)))
    assert smaller is not None
    assert smaller.ours is None
    assert smaller.times == 0


def test_losses_are_told() -> None:
    mine = row(OURS, 20, (4.0, 9.0, 1, 500), (30.0, 9.0, 200, 20))
    smaller = row("cvise", 10, (1.0, 9.0, 1, 500), (90.0, 9.0, 80, 10))
    sooner = row("picire", 100, (1.0, 9.0, 1, 500), (2.0, 9.0, 80, 100))
    slipped = row("lithium", 2, (1.0, 9.0, 1, 500), (2.0, 9.0, 80, 2), truth="slipped")
    told = comparing.losses([mine, smaller, sooner, slipped])
    assert [text.split(":")[1].split(",")[0].strip() for text in told] == ["cvise", "picire"]


def test_the_spread_of_equal_numbers_is_one() -> None:
    assert str(comparing.spread([4.0, 4.0])) == "4.00 ×÷ 1.0"
    assert comparing.spread([2.0, 8.0]).mean == pytest.approx(4.0)
    assert str(comparing.spread([])) == "-"


def test_the_page_says_what_is_there_and_what_is_not() -> None:
    found = [
        row(OURS, 20, (4.0, 9.0, 1, 500), (30.0, 9.0, 200, 20)),
        row("cvise", 50, (1.0, 9.0, 1, 500), (90.0, 9.0, 80, 50)),
        row("picire", 70, (1.0, 9.0, 1, 500), (80.0, 9.0, 80, 70), truth="broken"),
        row("shrinkray", None, mode=FRESH),
    ]
    phases = {"fork": 4.0, "compile": 1.0, "run": 5.0, "limit": 10.0, "child": 11.0, "server": 1.0, "host": 0.5}
    measured = Breakdown("2026-12-01", "abc", "s.py", 1, {**phases, "confinement": 2}, {**phases, "confinement": 3}, {})
    page = document.page(found, [measured], {"ad01": "the graph does not fail"})
    assert "0 of 1 (`python -m benchmarks.peers.traced`)" in page
    assert "| **times the limit** | 1.25 | 1.25 |" in page
    assert "one per fork: confinement 2.00 ms, child 1.00 ms, server 1.00 ms" in page
    assert "| ad01 (exception) | 500 | 20 | 20 (100 s) |" in page
    assert "70 ~ (100 s)" in page
    assert "none (finished)" in page
    assert f"Lithium, {SERVED}: 0 of {len(drawn())} scripts" in page
    assert "Median of 1 scripts: 3.0 times sooner." in page
    assert plot.svg(found, "time").startswith("<svg")
    assert {point["reducer"] for point in plot.points(found, "queries")} == {"shrinkrepro", "C-Vise", "picire"}


def test_no_rows_is_told(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "benchmarks.peers.document", "--from", str(tmp_path), "--to", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "hint: make bench-peers" in done.stderr


def test_what_is_not_installed_is_not_run(tmp_path: Path) -> None:
    assert [peer.name for peer in PEERS if peer.packages and peer.installed(tmp_path / peer.name)] == []


def test_processor_seconds_are_those_of_children_too() -> None:
    before = processor_seconds()
    work = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"])
    child = subprocess.Popen([sys.executable, "-c", work + "\nprint(1, flush=True); input()"], stdin=-1, stdout=-1)
    assert child.stdout is not None
    child.stdout.readline()
    used = processor_seconds() - before
    child.communicate(b"\n")
    assert used >= 0.58


@pytest.mark.torch
@pytest.mark.slow
def test_fresh_and_served_say_the_same(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    failing = "import torch\nx = torch.ones(2)\ny = x + 1\ntorch.func.vmap(float)(x)\n"
    script.write_text(failing)
    subject = Subject("script", "exception", Case("script", script, "exception", (), "", "", "", ""))
    with Judging(subject, tmp_path, sys.executable, 60.0) as judging:
        until = time.monotonic() + 60
        for mode in (FRESH, SERVED):
            assert judging.ask(failing.replace("y = x + 1\n", ""), mode, until) == INTERESTING
            assert judging.ask("1 / 0", mode, until) == OTHER
        assert judging.ask("x = (", SERVED, until) == NO_PROGRAM

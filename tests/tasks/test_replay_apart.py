"""A replay in shares, by workers: the rows are those of a replay at home."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.errors import TargetError, UsageError
from shrinkrepro.tasks import replay_apart
from shrinkrepro.tasks.batch_worker import ScriptWorker
from shrinkrepro.tasks.placement import LOCAL, RAY, Placement
from shrinkrepro.tasks.replay import ReplayRequest, chosen
from shrinkrepro.tasks.replay_share import REPLAY
from shrinkrepro.tasks.replayer import Replayer
from shrinkrepro.workers.executor import DONE, FAILED, LOST, Event, Work

CORPUS = Path(__file__).parents[2] / "corpus"


@given(st.integers(0, 500), st.integers(1, 60))
def test_shares_are_all_cases_in_order(count: int, wanted: int) -> None:
    cases = list(range(count))
    shares = list(replay_apart._shares(cases, wanted))  # type: ignore[arg-type]
    assert [case for share in shares for case in share] == cases
    assert len(shares) <= wanted
    assert all(len(share) >= replay_apart.LEAST for share in shares[:-1])


def test_a_share_that_was_lost_has_a_row_for_each_case() -> None:
    [case] = chosen(ReplayRequest((CORPUS / "cdist_forward_mode.py",))).cases
    end = Event("share 0", LOST, {"message": "3 workers died of it", "hint": "look"})
    [[row], [other]] = replay_apart._rows([case], end, [None, "cuda"])
    assert (row.name, row.status, row.detail, row.device) == (case.name, "error", "3 workers died of it", "cpu")
    assert other.device == "cuda"
    with pytest.raises(TargetError, match="no torch there"):
        replay_apart._rows([case], Event("share 0", FAILED, {"message": "no torch there", "hint": ""}), [None])


@pytest.mark.parametrize(
    ("placement", "told"),
    [
        (Placement("cloud"), "'cloud' is not known"),
        (Placement(LOCAL, address="host:1"), "are for a cluster"),
        (Placement(RAY, jobs=0), "--jobs 0"),
        (Placement(RAY, cpus=1.5), "--cpus-per-worker 1.5"),
        (Placement(RAY, gpus=-0.5), "--gpus-per-worker -0.5"),
    ],
)
def test_workers_that_cannot_be_are_told(placement: Placement, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        placement.check()


@pytest.mark.torch
@pytest.mark.slow
def test_a_share_has_the_rows_of_a_replay_at_home() -> None:
    [case] = chosen(ReplayRequest((CORPUS / "cdist_forward_mode.py",))).cases
    work = Work("share 0", REPLAY, "0/cdist_forward_mode.py", {"0/cdist_forward_mode.py": case.text},
                options={"devices": [None], "jobs": 1})  # fmt: skip
    events: list[Event] = []
    worker = ScriptWorker()
    worker.run(work, events.append)
    worker.close()
    assert [event.kind for event in events][-1] == DONE
    [[row]] = replay_apart._rows([case], events[-1], [None])
    with Replayer([case], jobs=1) as replayer:
        [home] = replayer.replay([case])
    assert replace(row, seconds=0.0, output="") == replace(home, seconds=0.0, output="")

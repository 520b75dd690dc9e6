"""The local executor: real processes, which die as real ones do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from shrinkrepro.workers.executor import DONE, ENDS, LOST, NOTE, TRIES, Event, Work
from shrinkrepro.workers.local import LocalExecutor
from tests.workers.script_workers import PATH

SECONDS = 60.0


def work(name: str, text: str) -> Work:
    return Work(name, "scripted", "s.py", {"s.py": text})


def heard(works: Sequence[Work], slots: int = 2) -> list[Event]:
    with LocalExecutor(PATH, slots) as executor:
        for one in works:
            executor.submit(one)
        return list(executor.events())


def ends(events: Sequence[Event]) -> dict[str, Event]:
    found = [event for event in events if event.kind in ENDS]
    assert len({event.work for event in found}) == len(found)  # each work ends once
    return {event.work: event for event in found}


def test_each_work_ends_once() -> None:
    found = ends(heard([work(f"w{n}", f"say\n{n}\n") for n in range(6)]))
    assert {name: event.data["said"] for name, event in found.items()} == {f"w{n}": str(n) for n in range(6)}


def test_two_works_are_under_way_at_a_time(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    with LocalExecutor(PATH, 2) as executor:
        executor.submit(work("first", f"wait {flag}\n"))
        executor.submit(work("second", "say\nhello\n"))
        order = []
        for event in executor.events():
            if event.kind == DONE:
                order.append(event.work)
                flag.touch()  # the first ends only once the second has
    assert order == ["second", "first"]


def test_works_can_be_given_while_others_go_on() -> None:
    with LocalExecutor(PATH, 1) as executor:
        executor.submit(work("a", "say\n1\n"))
        found = []
        for event in executor.events():
            if event.kind == DONE:
                found.append(event.work)
                if event.work == "a":
                    executor.submit(work("b", "say\n2\n"))
    assert found == ["a", "b"]


def test_a_script_whose_worker_dies_goes_on_from_what_was_accepted() -> None:
    events = heard([work("dies", "die 1\n"), work("other", "say\nx\n")], slots=1)
    found = ends(events)
    assert found["dies"].kind == DONE
    assert found["dies"].data["said"] == "die 0"
    assert found["other"].data["said"] == "x"
    [note] = [event for event in events if event.kind == NOTE]
    assert "signal 9" in note.data["text"]


def test_a_script_that_kills_every_worker_is_lost_and_no_other() -> None:
    found = ends(heard([work("kills", f"die {TRIES}\n"), work("other", "say\nx\n")], slots=1))
    assert found["kills"].kind == LOST
    assert found["kills"].data["hint"]
    assert found["other"].kind == DONE


def test_workers_are_told_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "mark"
    monkeypatch.setenv("SCRIPTED_MARK", str(mark))
    with LocalExecutor(PATH, 1) as executor:
        executor.submit(work("waits", f"wait {tmp_path / 'never'}\n"))
        started = next(iter(executor.events()))
        pid = int(started.data["worker"])
    assert mark.read_text() == "closed"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


_DRIVER = """\
import os, signal, sys
from shrinkrepro.workers.executor import Work
from shrinkrepro.workers.local import LocalExecutor
with LocalExecutor({path!r}, 1) as executor:
    executor.submit(Work("waits", "scripted", "s.py", {{"s.py": "wait /nowhere/at/all\\n"}}))
    started = next(iter(executor.events()))
    print(started.data["worker"], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not its child")
def test_workers_end_when_their_executor_is_killed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SCRIPTED_MARK": str(mark)}
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER.format(path=PATH)], env=env, capture_output=True, text=True, timeout=SECONDS
    )
    pid = int(done.stdout)
    assert _ended(pid)
    assert mark.read_text() == "closed"


def _ended(pid: int) -> bool:
    """Wait for a process that is not ours; False when it lives on."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    import select

    try:
        return bool(select.select([watched], [], [], SECONDS)[0])
    finally:
        os.close(watched)

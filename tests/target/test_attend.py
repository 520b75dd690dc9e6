"""Waiting for a core is told from running."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from shrinkrepro.target.attend import queued

pytestmark = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this system does not tell")


def _spinning(core: int) -> int:
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {core})
        while True:
            pass
    return pid


def test_two_that_share_a_core_wait_for_each_other() -> None:
    core = min(os.sched_getaffinity(0))
    pids = [_spinning(core), _spinning(core)]
    try:
        deadline = time.monotonic() + 30
        while sum(map(queued, pids)) < 0.2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert sum(map(queued, pids)) >= 0.2
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_a_process_that_is_gone_waits_for_nothing() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    assert queued(pid) == 0.0

"""Hostile programs, each in a real process: nothing that they aim at is reached, and the next program sees nothing.

That is not luck: where nothing confines them, which is in a root of its own alone, they reach it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.free_root import Outside, Refused, Root
from benchmarks.hostile_programs import INNOCENT, MEMORY, SECONDS, Canaries, planted
from benchmarks.unconfined import control
from shrinkrepro.protocol import EXCEPTION, Job
from shrinkrepro.workers import scratch as scratches
from shrinkrepro.workers.pool import Pool
from tests.workers.conftest import make_target

pytestmark = [pytest.mark.torch, pytest.mark.skipif(sys.platform != "linux", reason="needs the Linux kernel's means")]


@pytest.fixture(scope="module")
def canaries() -> Iterator[Canaries]:
    scratch = scratches.make_scratch()
    with planted(scratch) as canaries:
        yield canaries
    for folder in (canaries.outside.parent, canaries.home.parent):
        shutil.rmtree(folder)
    scratches.remove(scratch)


@pytest.fixture(scope="module")
def hostile_pool(canaries: Canaries) -> Iterator[Pool]:
    target = make_target(canaries.folder, env={"HOME": str(canaries.home)}, memory=MEMORY)
    with Pool(target, scratch=canaries.other.parent.parent) as pool:
        if "PID" not in pool.info.confinement or "overlays" not in pool.info.confinement:
            pytest.skip(f"not here: {pool.info.confinement}")
        yield pool


def test_hostile_programs_reach_nothing(hostile_pool: Pool, canaries: Canaries) -> None:
    wrong = []
    for program in canaries.programs(heavy=False):
        hostile, innocent = hostile_pool.run([Job(program.source, timeout=SECONDS), Job(INNOCENT, timeout=60.0)])
        if hostile.status not in program.endings:
            wrong.append(f"{program.name}: {hostile.status} {hostile.detail} {hostile.stderr[-300:]}")
        if innocent.status != EXCEPTION or innocent.chain[0].type != "KeyError":
            wrong.append(f"after {program.name}: {innocent.status} {innocent.detail} {innocent.stderr[-300:]}")
        wrong += [f"{program.name}: reached {canary}" for canary in canaries.dead()]
    assert not wrong, "\n".join(wrong)
    assert hostile_pool._started == 1, "a program ended its server"
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if canaries.mark in _read(path)]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


# One program for each canary, none of which is heavy.
DEADLY = {
    "rmtree of HOME": "HOME",
    "unmounts its overlay": "the script's folder",
    "truncates by an absolute path": "outside",
    "kills a process of the user": "a process",
    "kills its parent": "the server",
    "kills everything that it may": "the server",
    "writes into its server's memory": "the server's memory",
    "writes into its server's memory by a call": "the server's memory",
    "rmtree of another candidate's scratch": "another candidate's scratch",
    "the next candidate's scratch made": "the next candidate's scratch",
    "connects by TCP": "TCP",
    "sends by UDP": "UDP",
    "looks a name up": "the name server",
    "connects to a socket in a folder": "a socket",
    "connects to an abstract socket": "an abstract socket",
    "segfault": "the next program",
    "writes into every descriptor": "what tells its verdict",
    "a process left running": "a process left behind",
    "waits for input": "time (no end)",
    "sets its server's limits": "a right (it was let)",
    "takes a new root": "a right (it was let)",
}


def test_each_canary_can_die() -> None:
    try:
        reached = control(list(DEADLY))
    except RuntimeError as refusal:
        pytest.skip(str(refusal))
    assert not {name: reached[name] for name, canary in DEADLY.items() if canary not in reached[name].deaths}


# A user namespace in which no further namespace may be made, as in most containers.
BARE = """\
import os, sys
from pathlib import Path
from shrinkrepro.target import kernel
kernel.unshare(kernel.CLONE_NEWUSER)
for kind in ("user", "mnt", "net", "ipc", "pid"):
    Path(f"/proc/sys/user/max_{kind}_namespaces").write_text("0")
os.execv(sys.executable, [sys.executable, "-m", "benchmarks.unconfined", "rmtree of HOME"])
"""


def test_nothing_is_run_unconfined_outside_a_root_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        Root(Outside.of(tmp_path))
    done = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=False)
    if "kernel.unshare" in done.stderr:
        pytest.skip("no user namespaces here to take namespaces away in")
    assert (done.returncode, done.stdout) == (2, "")
    assert "and there is none" in done.stderr
    assert len(done.stderr.splitlines()) == 1

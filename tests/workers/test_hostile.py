"""Hostile programs, each in a real process: nothing that they aim at is reached, and the next program sees nothing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.hostile_programs import INNOCENT, SECONDS, Canaries, planted
from shrinkrepro.protocol import EXCEPTION, Job
from shrinkrepro.workers.pool import Pool
from tests.workers.conftest import make_target

pytestmark = [pytest.mark.torch, pytest.mark.skipif(sys.platform != "linux", reason="needs the Linux kernel's means")]


@pytest.fixture(scope="module")
def canaries() -> Iterator[Canaries]:
    with planted() as canaries:
        yield canaries
    shutil.rmtree(canaries.outside.parent)
    shutil.rmtree(canaries.home.parent)


@pytest.fixture(scope="module")
def hostile_pool(canaries: Canaries) -> Iterator[Pool]:
    target = make_target(canaries.folder, env={"HOME": str(canaries.home)}, memory=1 << 30)
    with Pool(target) as pool:
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

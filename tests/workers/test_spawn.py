"""A spawned interpreter gives the verdicts that a forked child gives: a sample of each kind of ending."""

from __future__ import annotations

import pytest

from shrinkrepro.oracles.signature import signature_of
from shrinkrepro.protocol import EXCEPTION, EXIT, OK, PRIMAL, RUN, SIGNAL, Execution, Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.spawn import SpawnPool
from shrinkrepro.workers.target import Target

pytestmark = [pytest.mark.torch, pytest.mark.slow]

BATCHED = """\
import torch
def f(x):
    return x if x > 0 else -x
print(torch.rand(2).tolist())
torch.vmap(f)(torch.ones(3))
"""
SAMPLE = (
    (Job(BATCHED, RUN, 60.0, alone=True, seed=7), EXCEPTION),
    (Job(BATCHED, PRIMAL, 60.0, alone=True), OK),
    (Job("import ctypes, torch\ntorch.ones(2)\nctypes.string_at(0)\n", RUN, 60.0, alone=True), SIGNAL),
    (Job("import sys, warnings, torch\nwarnings.warn('odd')\nsys.exit(3)\n", RUN, 60.0, alone=True), EXIT),
)


def told(execution: Execution) -> tuple[object, ...]:
    """All that a verdict rests on."""
    return (
        execution.status,
        execution.code,
        signature_of(execution),
        execution.stdout,
        execution.warnings,
        execution.watched,
        execution.drew,
    )


def test_spawn_gives_the_verdicts_of_fork(target: Target) -> None:
    jobs = [job for job, _ in SAMPLE]
    with Pool(target, jobs=1) as pool:
        forked = pool.run(jobs)
    with SpawnPool(target, jobs=1) as spawned:
        others = spawned.run(jobs)
    assert [execution.status for execution in forked] == [status for _, status in SAMPLE]
    assert [told(execution) for execution in others] == [told(execution) for execution in forked]

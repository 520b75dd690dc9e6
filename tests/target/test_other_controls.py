"""The controls that leave the transforms alone: float64 in the place of lower precisions, and the CPU."""

from __future__ import annotations

import pytest

from shrinkrepro.core.devices import on_device
from shrinkrepro.protocol import CONTROL_CPU, CONTROL_FLOAT64, EXCEPTION, OK, RUN, Execution, Job
from shrinkrepro.workers.pool import Pool

pytestmark = pytest.mark.torch


def run(pool: Pool, source: str, mode: str) -> Execution:
    return pool.run([Job(source, mode=mode, timeout=60, alone=True)])[0]


LOWER = [
    "torch.ones(2)",
    "torch.ones(2, dtype=torch.float16)",
    "torch.ones(2, dtype=half)",
    "torch.ones(2, dtype=getattr(torch, 'bfloat16'))",
    "torch.ones(2, dtype=torch.float64).float()",
    "torch.ones(2, dtype=torch.float64).to(torch.float32)",
    "torch.ones(2).to(dtype=torch.half)",
    "torch.ones(2).type('torch.HalfTensor')",
    "torch.ones(2).type(torch.FloatTensor)",
    "torch.FloatTensor([1, 2])",
    "torch.tensor(np.ones(2, np.float32))",
    "torch.from_numpy(np.ones(2, 'float32'))",
    "torch.nn.Linear(2, 2).half().weight",
    "torch.nn.Linear(2, 2).to(torch.bfloat16).weight",
    "torch.nn.Linear(2, 2, dtype=torch.float32)(torch.ones(2))",
    "torch.randn(2, dtype=torch.complex64)",
    "torch.ones(2).cfloat()",
    "autocast_product()",
]
PRECISION = f"""\
import numpy as np, torch
from torch import half
torch.set_default_dtype(torch.float32)

def autocast_product():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.ones(2, 2) @ torch.ones(2, 2)

for text in {LOWER!r}:
    print(text, eval(text).dtype)
x = torch.full((3,), 1 / 3, requires_grad=True)
print(torch.vmap(torch.func.grad(lambda v: v * v))(x).sum().item() == 2 / 3 * 3)
print(torch.ones(2, dtype=torch.int32).dtype, torch.ones(2, dtype=torch.bool).dtype)
"""


def test_every_lower_precision_is_float64(pool: Pool) -> None:
    plain, raised = run(pool, PRECISION, RUN), run(pool, PRECISION, CONTROL_FLOAT64)
    assert (plain.status, raised.status) == (OK, OK), raised.stderr
    *lines, same, others = raised.stdout.splitlines()
    assert len(lines) == len(LOWER)
    for line in lines:
        assert line.endswith((" torch.float64", " torch.complex128")), line
    assert not any(line.endswith((" torch.float64", " torch.complex128")) for line in plain.stdout.splitlines())
    assert (same, others) == ("True", "torch.int32 torch.bool")


def test_rounding_is_gone_in_float64_and_a_bug_is_not(pool: Pool) -> None:
    rounding = "import torch\nx = torch.full((), 1.0)\nassert x + 1e-10 > x\n"
    assert run(pool, rounding, RUN).status == EXCEPTION
    assert run(pool, rounding, CONTROL_FLOAT64).status == OK
    bug = "import torch\nx = torch.ones(2)\ntorch.testing.assert_close(x + 1, x)\n"
    assert run(pool, bug, CONTROL_FLOAT64).status == EXCEPTION


def test_the_cpu_control_runs_a_script_written_for_another_device(pool: Pool) -> None:
    source = """\
import torch
device = torch.device("cuda:0")
assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
torch.cuda.manual_seed_all(3)
model = torch.nn.Linear(2, 2).cuda()
x = torch.ones(2, device=device).to("cuda", non_blocking=True).cuda(0)
with torch.autocast("cuda", enabled=False):
    y = torch.func.functional_call(model, dict(model.named_parameters()), (x,))
torch.cuda.synchronize()
print(y.device, torch.zeros(1).pin_memory().device)
"""
    execution = run(pool, on_device(source, "cpu"), CONTROL_CPU)
    assert (execution.status, execution.stdout) == (OK, "cpu cpu\n"), execution.stderr

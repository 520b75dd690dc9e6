"""Programs that end in every way, on real servers."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest

from shrinkrepro.errors import TargetError
from shrinkrepro.protocol import EXCEPTION, EXIT, LOST, OBSERVE, OK, SIGNAL, TIMEOUT, Execution, Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

pytestmark = pytest.mark.torch

VMAP_ITEM = "import torch\nfrom torch.func import vmap\nvmap(lambda x: x.item())(torch.ones(3))\n"


def run(pool: Pool, source: str, timeout: float = 20.0, **job: object) -> Execution:
    return pool.run([Job(source, timeout=timeout, **job)])[0]  # type: ignore[arg-type]


def test_an_exception_comes_with_its_frames(pool: Pool) -> None:
    execution = run(pool, VMAP_ITEM)
    assert execution.status == EXCEPTION
    (raised,) = execution.chain
    assert raised.type == "RuntimeError"
    assert "calling .item() on a Tensor" in raised.message
    assert (raised.frames[0].file, raised.frames[0].line, raised.frames[0].lib) == ("script.py", 3, False)
    assert ("torch/_functorch/apis.py", True) in [(frame.file, frame.lib) for frame in raised.frames]


@pytest.mark.parametrize(
    ("statement", "types"),
    [
        ("raise KeyError(2) from error", ["KeyError", "ZeroDivisionError"]),
        ("raise KeyError(2)", ["KeyError", "ZeroDivisionError"]),
        ("raise KeyError(2) from None", ["KeyError"]),
        ("import sys; sys.exit(1)", ["ZeroDivisionError"]),
        ("import sys; sys.exit('no')", ["ZeroDivisionError"]),
    ],
)
def test_the_chain_goes_to_the_innermost_cause(pool: Pool, statement: str, types: list[str]) -> None:
    execution = run(pool, f"try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    {statement}\n")
    assert execution.status == EXCEPTION
    assert [raised.type for raised in execution.chain] == types


def test_an_exit_after_a_printed_traceback_is_that_exception(pool: Pool) -> None:
    source = "import sys, traceback\ntry:\n    1 / 0\nexcept Exception:\n    traceback.print_exc()\nsys.exit(3)\n"
    execution = run(pool, source)
    assert (execution.status, execution.code) == (EXCEPTION, 3)
    assert execution.chain[-1].type == "ZeroDivisionError"


@pytest.mark.parametrize(
    ("source", "status", "code"),
    [
        ("x = 1", OK, 0),
        ("import sys; sys.exit(0)", OK, 0),
        ("import sys; sys.exit(4)", EXIT, 4),
        ("import sys; sys.exit('text')", EXIT, 1),
        ("import os; os._exit(3)", EXIT, 3),
        ("import os; os._exit(0)", OK, 0),
        ("import ctypes; ctypes.string_at(0)", SIGNAL, 11),
        ("import os; os.abort()", SIGNAL, 6),
    ],
)
def test_endings(pool: Pool, source: str, status: str, code: int) -> None:
    execution = run(pool, source)
    assert (execution.status, execution.code) == (status, code)


def test_a_crash_names_its_frames_and_keeps_its_output(pool: Pool) -> None:
    execution = run(pool, "import ctypes\ndef f():\n    print('before')\n    ctypes.string_at(0)\nf()\n")
    assert execution.crash_frames == ("ctypes/__init__.py:string_at", "script.py:f", "script.py:<module>")
    assert execution.stdout == "before\n"
    assert "Segmentation fault" in execution.stderr


def test_recursion(pool: Pool) -> None:
    execution = run(pool, "def f():\n    f()\nf()\n")
    assert execution.chain[0].type == "RecursionError"
    assert len(execution.chain[0].frames) <= 400


def test_a_hang_is_killed_and_says_where_it_stood(pool: Pool) -> None:
    execution = run(pool, "def wait():\n    while True:\n        pass\nwait()\n", timeout=0.5)
    assert execution.status == TIMEOUT
    assert execution.crash_frames[0] == "script.py:wait"


def test_a_hang_that_blocks_signals_is_killed(pool: Pool) -> None:
    source = "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 60))\ntime.sleep(60)\n"
    assert run(pool, source, timeout=0.5).status == TIMEOUT


def test_a_flood_of_output_ends_and_only_its_end_is_kept(pool: Pool) -> None:
    execution = run(pool, "for i in range(300_000):\n    print(i)\n", timeout=60)
    assert execution.status == OK
    assert execution.stdout.endswith("299999\n")
    assert len(execution.stdout) < 100_000
    endless = run(pool, "import os\nwhile True:\n    os.write(1, b'x' * (1 << 22))\n", timeout=60)
    assert endless.chain[0].type == "OSError"


def test_an_orphan_dies_with_its_program(pool: Pool) -> None:
    mark = f"300.{os.getpid()}"  # process ids mean nothing outside the namespace that they were given in
    source = f"import subprocess\nsubprocess.Popen(['sleep', '{mark}'], start_new_session=True)\n"
    assert run(pool, source).status == OK
    for _ in range(100):
        if not any(mark in line for line in command_lines()):
            return
        time.sleep(0.05)
    pytest.fail("the orphan still runs")


def command_lines() -> list[str]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(file.read_text())
    return found


def test_a_child_of_the_program_gives_no_second_verdict(pool: Pool) -> None:
    execution = run(pool, "import os\nif os.fork() == 0:\n    raise KeyError('child')\nos.wait()\n")
    assert execution.status == OK


def test_warnings_are_recorded(pool: Pool) -> None:
    execution = run(pool, "import warnings\nfor _ in range(2):\n    warnings.warn('odd')\n", alone=True)
    assert execution.warnings == ("UserWarning: odd",)
    assert "odd" in execution.stderr


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="no limit on address space beside an accelerator")
def test_a_program_cannot_take_all_memory(pool: Pool) -> None:
    execution = run(pool, "import torch\nx = [torch.empty(1 << 30) for _ in range(1 << 16)]\n")
    assert execution.chain[0].type == "RuntimeError"
    assert "alloc" in execution.chain[0].message


def test_standard_input_is_empty(pool: Pool) -> None:
    assert run(pool, "input()").chain[0].type == "EOFError"


def test_main_is_a_real_module_and_file(pool: Pool) -> None:
    source = """\
import dataclasses, inspect, pickle, sys

@dataclasses.dataclass
class Point:
    x: int

assert __name__ == "__main__" and sys.argv == [__file__]
assert pickle.loads(pickle.dumps(Point(1))) == Point(1)
assert "x: int" in inspect.getsource(Point)
assert inspect.getsource(lambda: 0).startswith("assert inspect")
"""
    execution = run(pool, source)
    assert execution.status == OK, execution.chain


LEAVING = [
    "import torch; torch.set_default_dtype(torch.float64)",
    "import torch; torch.set_grad_enabled(False)",
    "import torch; torch.set_default_device('meta')",
    "import torch.autograd.forward_ad as fwAD; fwAD.enter_dual_level()",
    "import torch; torch.autograd.forward_ad._current_level = 3",
    "import torch; torch.nn.Linear.forward = None",
    "import torch; torch.sin = None",
    "import os; os.chdir('/')",
    "import os; os.environ['LEFT'] = '1'",
    "import sys; sys.path.insert(0, '/nowhere')",
    "import warnings; warnings.simplefilter('error')",
    "import logging, sys; logging.basicConfig(stream=sys.stderr); logging.disable(50)",
    "import torch; torch.manual_seed(5)",
    "import random; random.seed(5)",
    "import threading, time; threading.Thread(target=time.sleep, args=(100,), daemon=True).start()",
    "import sys; sys.settrace(lambda *a: None)",
    "import torch; torch.ones(1).requires_grad_().register_hook(print)",
    "import atexit; atexit.register(print)",
    "import torch; torch.set_printoptions(precision=1)",
    "import torch; torch.use_deterministic_algorithms(True)",
    "import torch; torch.utils._python_dispatch.TorchDispatchMode().__enter__()",
    "import builtins; builtins.print = None",
    "import torch; torch.nn.modules.module.register_module_forward_hook(print)",
]
PROBE = """\
import logging, os, random, sys, threading, torch, warnings
from torch.autograd import forward_ad
warnings.warn("probe")
print(torch.get_default_dtype(), torch.is_grad_enabled(), torch.ones(1).device, forward_ad._current_level)
print(os.getcwd(), os.environ.get("LEFT"), sys.path[:2], len(logging.root.handlers), logging.root.manager.disable)
print(torch.randn(2), random.random(), threading.active_count(), sys.gettrace())
print(torch.are_deterministic_algorithms_enabled(), torch._C._len_torch_dispatch_stack(), torch.nn.Linear(1, 1))
torch.func.vmap(torch.sin)(torch.ones(2))
torch.func.jvp(torch.nn.Linear(2, 2).forward, (torch.ones(2),), (torch.ones(2),))
"""


def test_no_program_of_a_batch_sees_another(pool: Pool) -> None:
    """Each program that leaves something is followed by a probe, whose output must be that of a new child."""
    new = run(pool, PROBE, alone=True)
    assert new.status == OK, new.chain
    jobs = [Job(source, timeout=20) for left in LEAVING for source in (left, PROBE)]
    executions = pool.run(jobs)
    for left, execution in zip(LEAVING, executions[1::2]):
        assert (execution.status, execution.stdout) == (OK, new.stdout), left
        assert execution.warnings == new.warnings, left


def test_a_batch_gives_the_verdicts_of_single_children(pool: Pool) -> None:
    sources = [
        VMAP_ITEM,
        "import ctypes; ctypes.string_at(0)",
        "import torch\nprint(torch.func.grad(torch.sin)(torch.ones(())))",
        "import os; os._exit(7)",
        "import torch\ntorch.set_default_dtype(torch.float64)\nassert torch.ones(1).dtype is torch.float32, 'wide'",
        "import time\ntime.sleep(60)",
        "import torch\nassert torch.ones(1).dtype is torch.float64, 'narrow'",
        "import sys\nsys.exit(2)",
        "x = (",
    ]
    timeouts = [1.0 if "sleep" in source else 30.0 for source in sources]
    batch = pool.run([Job(s, timeout=t) for s, t in zip(sources, timeouts)])
    alone = pool.run([Job(s, timeout=t, alone=True) for s, t in zip(sources, timeouts)])
    assert [_verdict(e) for e in batch] == [_verdict(e) for e in alone]
    assert [e.status for e in batch].count(EXCEPTION) == 4


def _verdict(execution: Execution) -> tuple[object, ...]:
    return execution.status, execution.code, execution.chain, execution.stdout, execution.warnings


def test_the_number_of_servers_changes_nothing(pool: Pool) -> None:
    jobs = [Job(f"import torch\nprint({n})\nassert {n} % 3, {n}") for n in range(12)]
    assert [_verdict(e) for e in pool.run(jobs)] == [_verdict(pool.run([job])[0]) for job in jobs]


def test_a_program_that_kills_its_server_is_lost_and_the_others_are_not(pool: Pool) -> None:
    kill = "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(30)\n"
    executions = pool.run([Job(s, timeout=20) for s in ("print(1)", kill, "print(2)")])
    assert [e.stdout for e in executions] == ["1\n", "", "2\n"]
    assert executions[0].status == executions[2].status == OK
    assert executions[1].status != OK


def test_programs_that_write_to_every_descriptor_cost_only_themselves(pool: Pool) -> None:
    noise = """\
import os
for descriptor in range(3, 64):
    try:
        os.write(descriptor, b"noise\\n")
    except OSError:
        pass
"""
    close = "import os\nos.closerange(0, 256)\n"
    executions = pool.run([Job(s, timeout=20) for s in (noise, close, "print(2)")])
    assert executions[0].status == OK
    assert executions[1].status in (OK, EXIT, LOST)
    assert executions[2].stdout == "2\n"


def test_info_tells_versions_and_modules(pool: Pool) -> None:
    info = pool.info
    assert info.python.count(".") == 2
    assert "torch.nn" in info.torch_modules
    assert "torch._dynamo" in info.modules - info.torch_modules


def test_arguments_folder_path_and_local_modules(tmp_path: Path) -> None:
    from tests.workers.conftest import make_target

    (tmp_path / "helper.py").write_text("VALUE = 5\n")
    (tmp_path / "data.txt").write_text("data")
    preload = tmp_path / "preload.py"
    preload.write_text("import builtins\nbuiltins.PRELOADED = 1\n")
    source = """\
import os, pathlib, sys
from helper import VALUE
print(sys.argv[1:], VALUE, os.getcwd(), PRELOADED, pathlib.Path("data.txt").read_text())
print(pathlib.Path(__file__).parent.joinpath("data.txt").read_text())
"""
    with Pool(make_target(tmp_path, args=("-n", "2"), preload=preload)) as pool:
        execution = run(pool, source)
    assert execution.stdout == f"['-n', '2'] 5 {tmp_path} 1 data\ndata\n"


PLANT = """\
import torch

sine = torch.sin
torch.sin = lambda x: sine(x) + 1
vmap = torch.vmap
torch.vmap = lambda f: vmap(lambda x: f(x) + 100)
"""


def test_what_a_preload_patches_stays_so_in_a_batch_and_gives_way_to_a_control(tmp_path: Path) -> None:
    from shrinkrepro.protocol import CONTROL_REFERENCE
    from tests.workers.conftest import make_target

    preload = tmp_path / "preload.py"
    preload.write_text(PLANT)
    sources = [f"import torch\nprint(torch.vmap(torch.sin)(torch.zeros(1)).item())  # {k}\n" for k in range(4)]
    with Pool(make_target(tmp_path, preload=preload), jobs=1) as pool:
        runs = pool.run([Job(source, timeout=30) for source in sources])
        [control] = pool.run([Job(sources[0], CONTROL_REFERENCE, 30)])
    assert [run.stdout for run in runs] == ["101.0\n"] * 4
    assert control.stdout == "1.0\n"


def test_a_preload_that_fails_fails_every_program(tmp_path: Path) -> None:
    from tests.workers.conftest import make_target

    preload = tmp_path / "preload.py"
    preload.write_text("raise KeyError(5)\n")
    with Pool(make_target(tmp_path, preload=preload), jobs=1) as pool:
        runs = pool.run([Job("print(1)", timeout=30), Job("print(2)", timeout=30)])
    assert [(run.status, run.chain[0].type) for run in runs] == [(EXCEPTION, "KeyError")] * 2


def test_a_target_without_torch_is_an_error_with_a_hint(tmp_path: Path) -> None:
    import subprocess
    import sys

    from tests.workers.conftest import make_target

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    target = make_target(tmp_path)
    bare = Target(python=str(tmp_path / "bare/bin/python"), script_path=target.script_path, cwd=tmp_path)
    with pytest.raises(TargetError, match="cannot import torch") as caught, Pool(bare):
        pass
    assert "--python" in caught.value.hint
    missing = Target(python=str(tmp_path / "none"), script_path=target.script_path, cwd=tmp_path)
    with pytest.raises(TargetError, match="no Python interpreter"), Pool(missing):
        pass


def test_servers_are_replaced_learn_and_leave_nothing(target: Target) -> None:
    """One pool for three promises, because each of them needs a server to start."""
    with Pool(target) as pool:
        assert "wave" not in pool.info.modules
        run(pool, "import wave", alone=True)
        assert "wave" in pool.learned
        pool.restart(sorted(pool.learned))
        assert "wave" in pool.info.modules
        server = pool._servers[0]
        assert server is not None
        os.kill(server._process.pid, 9)
        assert run(pool, "import os\nos.makedirs('a', exist_ok=True)\nprint(1)").stdout == "1\n"
        scratch = pool.scratch
        assert scratch.exists()
    assert not scratch.exists()


def test_servers_learn_what_programs_import(pool: Pool) -> None:
    pool.run([Job("import wave", timeout=30)])
    assert "wave" in pool.learned
    assert pool.learn()
    assert "wave" in pool.info.modules
    assert not pool.learn()
    assert [e.status for e in pool.run([Job("import wave", timeout=30)] * 2)] == [OK, OK]


def test_a_crash_leaves_facts_behind(pool: Pool) -> None:
    source = "import ctypes\nx = 1 + 2\nctypes.string_at(0)\ny = x"
    [execution] = pool.run([Job(source, mode=OBSERVE, timeout=30)])
    assert execution.status == SIGNAL
    assert execution.facts is not None
    assert set(execution.facts["lines"]) == {"1", "2", "3"}
    assert any(fact["v"] == {"k": "const", "r": "3"} for fact in execution.facts["exprs"].values())


def test_a_job_may_have_a_seed_of_its_own(pool: Pool) -> None:
    source = "import random, torch\nprint(torch.rand(()).item(), random.random())"
    out = [e.stdout for e in pool.run([Job(source, timeout=30, seed=seed) for seed in (1, 2, 1)])]
    assert out[0] == out[2] != out[1]


def test_a_batch_stays_in_one_child(pool: Pool) -> None:
    source = "import torch\ntorch.func.vmap(torch.func.grad(float))(torch.zeros(2))"
    servers = [server for server in pool._servers if server is not None]
    before = [len(server.leaks) for server in servers]
    executions = pool.run([Job(f"{source}\n# {i}", timeout=30) for i in range(20)])
    assert {e.status for e in executions} == {EXCEPTION}
    assert [server.leaks[n:] for server, n in zip(servers, before)] == [[]] * len(servers)

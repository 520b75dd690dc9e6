"""Programs that would do harm: nothing outside their scratch may change."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shrinkrepro.protocol import EXCEPTION, OK, TIMEOUT, Job
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target
from tests.workers.conftest import make_target

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "data.txt").write_text("data")
    (folder / "sub").mkdir()
    (folder / "sub" / "more.txt").write_text("more")
    return folder


@pytest.fixture(scope="module")
def harmless_target(folder: Path) -> Target:
    return make_target(folder)


@pytest.fixture(scope="module")
def own_pool(harmless_target: Target) -> Iterator[Pool]:
    with Pool(harmless_target) as pool:
        yield pool


def content(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


HARM = [
    "open('data.txt', 'w').write('changed')",
    "import os; os.remove('data.txt')",
    "import shutil; shutil.rmtree('sub')",
    "import os; os.rename('sub/more.txt', 'moved.txt')",
    "open(__file__, 'w').write('changed')",
    "import os; open(os.path.join(os.path.dirname(__file__), 'data.txt'), 'w').write('changed')",
    "import os; os.truncate('data.txt', 0)",
    "import os; os.symlink('data.txt', 'link'); open('link', 'w').write('changed')",
    "import os; os.system('echo changed > data.txt; rm -r sub')",
]


@pytest.mark.parametrize("source", HARM)
def test_files_of_the_user_never_change(own_pool: Pool, harmless_target: Target, folder: Path, source: str) -> None:
    before = content(folder)
    warm = own_pool.run([Job(source, timeout=30)])[0]
    fresh = run_fresh(harmless_target, source, 60)
    assert content(folder) == before
    assert warm.status == fresh.status


def test_relative_writes_work_and_are_gone_for_the_next_program(own_pool: Pool, folder: Path) -> None:
    write = "import torch\ntorch.save(torch.ones(1), 'm.pt')\nprint(torch.load('m.pt'), open('data.txt').read())\n"
    look = "import os\nprint(sorted(os.listdir('.')))\n"
    first, second = own_pool.run([Job(write, timeout=30), Job(look, timeout=30)])
    assert (first.status, first.stdout) == (OK, "tensor([1.]) data\n")
    assert second.stdout == "['data.txt', 'script.py', 'sub']\n"
    assert not (folder / "m.pt").exists()


def test_temporary_files_work(own_pool: Pool) -> None:
    source = "import tempfile\nwith tempfile.NamedTemporaryFile() as f:\n    f.write(b'1')\n"
    assert own_pool.run([Job(source, timeout=30)])[0].status == OK


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")
def test_nothing_outside_can_be_written_or_killed(own_pool: Pool, tmp_path: Path) -> None:
    outside = Path("/var/tmp/shrinkrepro-not-to-be-made")
    write = f"open({str(outside)!r}, 'w')"
    kill = f"import os\nos.kill({os.getpid()}, 0)"
    connect = "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)"
    executions = own_pool.run([Job(source, timeout=30) for source in (write, kill, connect)])
    assert not outside.exists()
    assert [e.status for e in executions] == [EXCEPTION] * 3
    assert executions[0].chain[0].type in ("PermissionError", "OSError")  # OSError: a read-only file system
    assert executions[1].chain[0].type in ("PermissionError", "ProcessLookupError")  # in a namespace it is not there


def test_secrets_are_not_in_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_TOKEN", "secret")
    monkeypatch.setenv("db_password", "secret")
    monkeypatch.setenv("PLAIN_VARIABLE", "plain")
    source = (
        "import os\nprint(sorted(n for n in os.environ if n in ('SOME_API_TOKEN', 'db_password', 'PLAIN_VARIABLE')))\n"
    )
    assert run_fresh(make_target(folder), source, 60).stdout == "['PLAIN_VARIABLE']\n"


def test_a_fresh_run_is_plain(folder: Path) -> None:
    source = """\
import sys, warnings
print(sys.argv[1:], __file__ == sys.argv[0], __name__, "torch" in sys.modules, sys.flags.isolated)
print(open("data.txt").read(), [m for m in sys.modules if m.startswith("shrinkrepro")])
"""
    execution = run_fresh(make_target(folder, args=("-n", "2")), source, 60)
    assert execution.stdout == "['-n', '2'] True __main__ False 0\ndata []\n"


def test_fresh_endings(folder: Path) -> None:
    target = make_target(folder)
    failed = run_fresh(target, "def f():\n    1 / 0\nf()\n", 60)
    assert (failed.status, failed.chain[0].type) == (EXCEPTION, "ZeroDivisionError")
    assert [(f.file, f.line, f.function, f.lib) for f in failed.chain[0].frames] == [
        ("script.py", 3, "<module>", False),
        ("script.py", 2, "f", False),
    ]
    crash = run_fresh(target, "import ctypes\nctypes.string_at(0)", 60)
    assert (crash.code, crash.crash_frames) == (11, ("ctypes/__init__.py:string_at", "script.py:<module>"))
    assert run_fresh(target, "while True: pass", 1.0).status == TIMEOUT


def test_a_fresh_run_with_a_preload(folder: Path, tmp_path: Path) -> None:
    preload = tmp_path / "preload.py"
    preload.write_text("import builtins, weakref\nclass Kept: pass\nkept = Kept()\nbuiltins.KEPT = weakref.ref(kept)\n")
    source = "import sys\nprint(KEPT() is None, __name__, sys.argv[0] == __file__)\nraise KeyError(1)\n"
    execution = run_fresh(make_target(folder, preload=preload), source, 60)
    assert execution.stdout == "False __main__ True\n"
    assert (execution.chain[0].type, execution.chain[0].frames[-1].line) == ("KeyError", 3)


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


HOST = """\
import signal
import subprocess
import sys
import time
from pathlib import Path
from shrinkrepro.protocol import Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

script = Path(sys.argv[1])
with Pool(Target(python=sys.executable, script_path=script, cwd=script.parent)) as pool:
    print(pool.scratch, flush=True)
    print(pool._servers[0]._process.pid, flush=True)
    pool.run([Job("import time\\ntime.sleep(300)", timeout=300)])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_host_that_is_killed_leaves_nothing(folder: Path, number: int) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(folder / "script.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert host.stdout is not None
    scratch, server = Path(host.stdout.readline().strip()), int(host.stdout.readline())
    wait_until(lambda: bool([child for inner in children(server) for child in children(inner)]))
    host.send_signal(number)
    host.wait(60)
    wait_until(lambda: not scratch.exists() and not Path(f"/proc/{server}").exists())
    assert content(folder).keys() == {"data.txt", "script.py", "sub/more.txt"}

"""What is allowed when it is asked for, what holds where there are no namespaces, and what dead runs leave."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkrepro.protocol import EXCEPTION, OK, Job
from shrinkrepro.workers import scratch
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.pool import Pool
from tests.workers.conftest import make_target

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs the Linux kernel's means")


MUCH = "import torch\ntorch.ones(1 << 29)\n"  # 2 GB


@pytest.fixture
def outside() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@linux
@pytest.mark.torch
def test_what_is_allowed_is_real(tmp_path: Path, outside: Path) -> None:
    file = outside / "log.txt"
    file.write_text("a")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        write = f"open({str(file)!r}, 'a').write('b')\nopen({str(outside / 'other')!r}, 'w')"
        connect = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 5)"
        target = make_target(tmp_path, allow_write=(file,), network=True, memory=1 << 30)
        with Pool(target) as pool:
            *warm, full = pool.run([Job(source, timeout=30) for source in (write, connect, MUCH)])
        fresh = [run_fresh(target, source, 60) for source in (write, connect)]
    for first, second in (warm, fresh):
        assert (first.status, second.status) == (EXCEPTION, OK)  # the other file is not the one that was named
    assert "can't allocate memory" in full.chain[0].message
    assert file.read_text() == "abb"
    assert os.listdir(outside) == ["log.txt"]


def content(folder: Path) -> dict[str, tuple[bytes, int, float]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime) for path in files}


# A filter on system calls that knows no landlock_create_ruleset, as a kernel before 5.13: what the kernel would have
# refused is left to the audit hook.
NO_LANDLOCK = """\
import ctypes, struct
lines = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 444, 0x06, 0, 0, 0x00050026, 0x06, 0, 0, 0x7FFF0000)
lines = ctypes.create_string_buffer(lines)
program = ctypes.create_string_buffer(struct.pack("HP", 4, ctypes.addressof(lines)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
"""

# A user namespace in which no further namespace may be made, as in most containers.
BARE = """\
import json, sys
from pathlib import Path
from shrinkrepro.target import kernel
kernel.unshare(kernel.CLONE_NEWUSER)
for kind in ("user", "mnt", "net", "ipc", "pid"):
    Path(f"/proc/sys/user/max_{kind}_namespaces").write_text("0")
from shrinkrepro.protocol import Job
from shrinkrepro.workers.fresh import run_fresh
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target
folder = Path(sys.argv[1])
target = Target(python=sys.executable, script_path=folder / "script.py", cwd=folder)
sources = sys.argv[2:]
with Pool(target) as pool:
    warm = pool.run([Job(source, timeout=30, alone=True) for source in sources])
    level = pool.info.confinement
fresh = [run_fresh(target, source, 60) for source in sources]
print(json.dumps([level, [[e.status, e.stdout] for e in warm], [[e.status, e.stdout] for e in fresh]]))
"""


@linux
@pytest.mark.torch
@pytest.mark.parametrize("filtered", ["", NO_LANDLOCK], ids=["Landlock", "audit hook"])
def test_without_namespaces_scripts_work_all_the_same(tmp_path: Path, outside: Path, filtered: str) -> None:
    (tmp_path / "script.py").touch()
    (tmp_path / "train.log").write_text("old\n")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "model.pt").write_text("weights")
    before = content(tmp_path)
    sources = [
        "with open('train.log', 'a') as f: f.write('new')\nwith open('train.log') as f: print(f.read())",
        "import os, torch\ntorch.save(torch.ones(1), 'runs/model.pt')\nos.makedirs('out/a')\nprint(os.listdir('out'))",
        f"open({str(outside / 'file')!r}, 'w')",
        "import os\nos.kill(os.getppid(), 9)",
        "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)",
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "import os, shutil\nos.chmod('runs/model.pt', 0)\nos.utime('runs/model.pt', (1, 1))\n"
        "shutil.copy2('train.log', 'copy.log')\nprint(os.path.exists('copy.log'))",
    ]
    done = subprocess.run(
        [sys.executable, "-c", filtered + BARE, str(tmp_path), *sources], capture_output=True, text=True, timeout=300
    )
    if "OSError" in done.stderr and "unshare" in done.stderr:
        pytest.skip("no user namespaces here to take namespaces away in")
    level, warm, fresh = json.loads(done.stdout)
    assert "namespaces" not in level
    assert "mirror" in level
    assert ("only what Python itself is asked to do" in level) == bool(filtered)
    refused = [EXCEPTION, ""]
    expected = [[OK, "old\nnew\n"], [OK, "['a']\n"], refused, refused, refused, refused, [OK, "True\n"]]
    assert warm == expected
    assert fresh == expected
    assert content(tmp_path) == before
    assert os.listdir(outside) == []


def test_only_what_a_dead_run_left_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    living = scratch.make_scratch()
    dead, strange = tmp_path / "shrinkrepro-dead", tmp_path / "shrinkrepro-of-someone-else"
    for folder in (dead, strange):
        (folder / "program").mkdir(parents=True)
    (dead / scratch.OWNER).touch()
    scratch.sweep.__wrapped__()
    assert sorted(tmp_path.iterdir()) == sorted([living, strange])
    scratch.remove(living)
    assert list(tmp_path.iterdir()) == [strange]


def test_a_lock_is_the_owner_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = scratch.make_scratch()
    with open(folder / scratch.OWNER) as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    scratch.remove(folder)

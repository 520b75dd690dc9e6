"""A script that fails only for its confinement is told which access it lacked, and is not reduced."""

from __future__ import annotations

import socket
import sys
import tempfile
from pathlib import Path

import pytest

from tests.cli.command import says_one_error, shrinkrepro

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs the Linux kernel's means"),
]

WRITES = "open({path!r}, 'w')\nimport torch\ntorch.ones(2) @ torch.ones(3)\n"
CONNECTS = "import socket\nsocket.create_connection(('127.0.0.1', {port}), 5)\n"
CATCHES = "try:\n    {connect}\nexcept OSError as error:\n    print('no data:', error)\n    raise SystemExit(1)\n"


@pytest.mark.parametrize("catches", [False, True])
def test_a_service_on_this_machine(tmp_path: Path, catches: bool) -> None:
    script = tmp_path / "script.py"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        text = CONNECTS.format(port=listener.getsockname()[1])
        script.write_text(CATCHES.format(connect=text.replace("\n", "\n    ")) if catches else text)
        done = shrinkrepro("reduce", script, cwd=tmp_path)
    says_one_error(done, 6)
    assert "needs the network" in done.err
    assert "--allow-network" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_a_write_elsewhere(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as outside:
        script.write_text(WRITES.format(path=outside + "/log.txt"))
        done = shrinkrepro("reduce", script, cwd=tmp_path)
        assert not list(Path(outside).iterdir())
    says_one_error(done, 6)
    assert f"--allow-write {outside}" in done.err

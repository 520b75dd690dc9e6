"""``make peers``: each peer in an environment of its own.

Decision: what needs a system package or a newer Python that is not here is skipped with one line; nothing else fails
for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.tools import Peer

PYTHON = "PEERS_PYTHON"  # the variable that names the newer interpreter
PYENV = "3.12:system"  # lets pyenv, where it stands before the interpreter, choose the newer one


def make(peer: Peer, homes: Path) -> str:
    """Set up ``peer`` below ``homes``, unless it is; one line on what became of it."""
    home = homes / peer.name
    if not peer.installed(home):
        reason = _install(peer, home) if peer.packages else _install_system(peer)
        if reason or not peer.installed(home):
            return f"{peer.name}: skipped: {reason or 'its program is not there'}"
    return f"{peer.name} {peer.version_of(home)}"


def _install(peer: Peer, home: Path) -> str:
    python = (os.environ.get(PYTHON) or peer.python) if peer.python else sys.executable
    if shutil.which(python) is None or _run([python, "--version"]):
        return f"it needs {peer.python}, and there is none that runs; {PYTHON} may name one"
    home.parent.mkdir(parents=True, exist_ok=True)
    reason = _run([python, "-m", "venv", str(home)])
    pip = [str(home / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not reason:
        reason = _run([*pip, *peer.packages])
    if not reason and peer.alone:
        reason = _run([*pip, "--no-deps", peer.alone])
    return reason


def _install_system(peer: Peer) -> str:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return f"it is a system package: apt-get install {peer.name}"
    return _run(["apt-get", "install", "--yes", "--quiet", peer.name])


def _run(argv: list[str]) -> str:
    """Run a command; the last line that it said if it failed, else nothing."""
    env = {"PYENV_VERSION": PYENV, **os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    lines = [text for text in (done.stderr or done.stdout).splitlines() if text.strip()]
    return "" if done.returncode == 0 else (lines or [f"{argv[0]} ended with {done.returncode}"])[-1][:200]

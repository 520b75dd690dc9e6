"""Runs the command line as a user's shell does: a process of its own, its streams and its exit code."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SECONDS = 300.0  # a backstop against a hang; nothing here depends on it


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """This process's environment, without what would change the display."""
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")}
    return {**env, "TERM": "dumb", **more}


def start(*args: str | Path, cwd: Path, **env: str) -> subprocess.Popen[str]:
    """Start ``python -m shrinkrepro ARGS`` in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "shrinkrepro", *map(str, args)],
        cwd=cwd,
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def shrinkrepro(*args: str | Path, cwd: Path, **env: str) -> Done:
    """Run ``python -m shrinkrepro ARGS`` to its end."""
    process = start(*args, cwd=cwd, **env)
    out, err = process.communicate(timeout=SECONDS)
    return Done(process.returncode, out, err)


def says_one_error(done: Done, code: int, *words: str) -> None:
    """One ``error:`` line with all ``words``, one ``hint:`` line, no traceback, and the exit code."""
    lines = done.err.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    hints = [line for line in lines if line.startswith("hint: ")]
    assert (done.code, len(errors), len(hints)) == (code, 1, 1), done.err
    assert "Traceback" not in done.err
    for word in words:
        assert word in errors[0] + hints[0], done.err


def folder_hash(folder: Path) -> dict[str, str]:
    """The digest of every file below ``folder``, by its name in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

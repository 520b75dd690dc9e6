"""Fresh runs: a program in a new interpreter, with no harness, in an empty folder of its own.

Decision: the unit of cost is the median of such runs, made beside each reduction and not from a
stored figure, because machines differ and one machine differs from hour to hour.
"""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMED_OUT = -1000  # returncode of a run that we killed: no signal has this number


@dataclass(frozen=True)
class Run:
    """What a run left. ``code`` is negative for a signal; ``output`` is stdout and stderr as they came."""

    code: int
    output: str
    seconds: float

    @property
    def clean(self) -> bool:
        """It ended by itself with exit code 0."""
        return self.code == 0

    @property
    def last_line(self) -> str:
        """The last line with something on it."""
        lines = [line for line in self.output.splitlines() if line.strip()]
        return lines[-1].strip() if lines else ""


def command(argv: Sequence[str], timeout: float, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Run:
    """Run ``argv``; after ``timeout`` seconds its whole process group is killed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=cwd or scratch,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        except BaseException:
            _kill_group(process)
            raise
        seconds = time.perf_counter() - start
        _kill_group(process)
        out.seek(0)
        return Run(code, out.read().decode("utf-8", "replace"), seconds)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def script(python: str, path: Path, timeout: float, env: Mapping[str, str] | None = None) -> Run:
    """A fresh run of a script, with the traceback of a crash in its output."""
    always = {"PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1"}
    return command([python, str(path)], timeout, {**always, **(env or {})})


def time_runs(python: str, path: Path, times: int, timeout: float) -> list[float]:
    """How long ``times`` fresh runs took, in seconds, in order."""
    return [command([python, str(path)], timeout).seconds for _ in range(times)]


def median(values: Sequence[float]) -> float:
    """The median; of none, not a number."""
    return statistics.median(values) if values else float("nan")

"""``shrinkrepro reduce 'tests/test_x.py::test_y[param]'``: from a pytest id to the request for a script.

Decision: pytest itself collects the test, in the interpreter that has the torch under test, because only it knows
which fixtures and parameters a test gets. The test is not run there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from shrinkrepro.errors import TargetError, UsageError
from shrinkrepro.workers import scratch as scratches

SECONDS = 300.0  # collecting imports the test's module and torch
_PACKAGE = "shrinkrepro_testscript"
_ADDRESS = re.compile(r".+\.py::.+", re.DOTALL)


@dataclass(frozen=True)
class TestScript:
    """A test as a script: its text, the folder from which its imports are found, and a file name for it."""

    __test__ = False  # no test for pytest to collect

    source: str
    folder: Path
    name: str


def is_test_id(script: str | None) -> bool:
    """Whether what stands for a script is a pytest id."""
    return script is not None and _ADDRESS.fullmatch(script) is not None


def script_of_id(test: str, python: str | None = None, cwd: Path | None = None) -> TestScript:
    """The script of the one test that ``test`` names.

    Raises:
        UsageError: there is no such test, there are several, or it cannot be written as a script.
        TargetError: the interpreter has no pytest.
    """
    interpreter = shutil.which(python or sys.executable)
    if interpreter is None:
        raise UsageError(f"--python {python} is not an interpreter that can be run", "give the path of a python")
    file = (cwd or Path.cwd()) / test.partition("::")[0]
    if not file.is_file():
        raise UsageError(f"{test.partition('::')[0]} does not exist", f"paths are taken from {cwd or os.getcwd()}")
    scratch = scratches.make_scratch()
    try:
        answer = _collect(interpreter, test, cwd, scratch)
    finally:
        scratches.remove(scratch)
    if "error" in answer:
        hint = "name one test with its parameters; pytest --collect-only -q lists them"
        raise UsageError(f"{test} cannot be made a script: {answer['error']}", hint)
    return TestScript(answer["source"], Path(answer["folder"]), file_name(test))


def _collect(python: str, test: str, cwd: Path | None, scratch: Path) -> dict[str, str]:
    shutil.copytree(Path(__file__).with_name("testscript"), scratch / _PACKAGE)
    out = scratch / "script.json"
    env = {k: v for k, v in os.environ.items() if k != "PYTEST_ADDOPTS"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(scratch), env.get("PYTHONPATH", "")]))
    options = [
        "--collect-only",
        "-q",
        "-p",
        f"{_PACKAGE}.plugin",
        "-p",
        "no:cacheprovider",
        "--shrink-script",
        str(out),
    ]
    try:
        done = subprocess.run(
            [python, "-m", "pytest", *options, test],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"collecting {test} takes more than {SECONDS:g} s", "run pytest --collect-only") from None
    answer: dict[str, str] = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {"count": "0"}
    if str(answer.get("count")) != "0":
        return answer
    if "No module named pytest" in done.stderr:
        raise TargetError(f"{python} has no pytest", f"install it there: {python} -m pip install pytest")
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(("E ", "ERROR", "error"))]
    raise UsageError(
        f"pytest cannot collect {test}" + (f": {said[0].lstrip('E ').strip()}" if said else ""),
        "run pytest --collect-only",
    )


def file_name(test: str) -> str:
    """A name for the files of a test: its function and parameters."""
    return re.sub(r"\W+", "_", test.split("::", 1)[-1]).strip("_")[:80] or "test"

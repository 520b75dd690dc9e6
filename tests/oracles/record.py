"""Recorded fresh runs of the cases, their hand versions and strangers: ``python -m tests.oracles.record [NAME...]``.

A fresh run costs seconds, so the touchstone reads what runs printed. Machine paths are written as ``<site>``,
``<stdlib>`` and ``<here>``. A crash that depends on where things lie in memory is tried in several layouts.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from shrinkrepro import protocol
from shrinkrepro.core.tracebacks import parse_crash, parse_tracebacks
from shrinkrepro.protocol import Execution

HERE = Path(__file__).parent
CASES = HERE.parents[1] / "benchmarks" / "cases"
RECORDED = HERE / "recorded"
STRANGERS = HERE / "strangers"
ROLES = ("original", "min", "stranger")
LAYOUTS: tuple[dict[str, str], ...] = (
    {},
    {"PYTHONMALLOC": "debug"},
    {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "165"},
    {"PADDING": "x" * 4000},
)
STDOUT_CHARS = 1000
STDERR_CHARS = 65_536
SECONDS = 600

# Where the placeholders stand on a machine of their own, so that the parser sees paths as they are.
_PLACES = {"<site>": "/v/lib/python3.11/site-packages", "<stdlib>": "/v/lib/python3.11", "<here>": "/run"}


def cases(*wanted: str) -> Iterator[dict[str, str]]:
    """The rows of INDEX.tsv of the wanted kinds."""
    with open(CASES / "INDEX.tsv", encoding="utf-8", newline="") as file:
        yield from (row for row in csv.DictReader(file, delimiter="\t") if row["kind"] in wanted)


def strangers(case: str) -> list[Path]:
    """The strangers of a case: files that begin with its number."""
    return sorted(STRANGERS.glob(case.split("_")[0] + "_*.py"))


def programs() -> Iterator[tuple[str, str, Path, bool]]:
    """Role, name, path, and whether it has to crash, of everything that is recorded."""
    for row in cases("exception", "crash"):
        crash = row["kind"] == "crash"
        yield "original", row["name"], CASES / row["path"], crash
        yield "min", row["name"], CASES / "min" / f"{row['name']}.py", crash
        for path in strangers(row["name"]):
            yield "stranger", path.stem, path, crash
    for path in strangers("ad20"):
        yield "stranger", path.stem, path, False


def run(path: Path, crash: bool = False) -> dict[str, object]:
    """One fresh run of ``path``, as it is recorded."""
    record: dict[str, object] = {}
    for layout in LAYOUTS if crash else LAYOUTS[:1]:
        env = {**os.environ, "PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1", **layout}
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, str(path)], cwd=folder, env=env, capture_output=True, timeout=SECONDS, check=False
            )
        out, err = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
        record = {
            "code": done.returncode,
            "stdout": anonymous(out, path)[-STDOUT_CHARS:],
            "stderr": anonymous(err, path)[-STDERR_CHARS:],
        }
        if done.returncode < 0 or not crash:
            break
    return record


def anonymous(text: str, path: Path) -> str:
    """``text`` without this machine's paths."""
    places = {
        str(path.parent.resolve()): "<here>",
        sysconfig.get_path("purelib"): "<site>",
        sysconfig.get_path("stdlib"): "<stdlib>",
    }
    for place, name in places.items():
        text = text.replace(place, name)
    return re.sub(r"/tmp/[\w.-]+", "<tmp>", text)


def execution_of(record: dict[str, object]) -> Execution:
    """What a worker would make of a recorded run."""
    code, out, err = int(str(record["code"])), str(record["stdout"]), str(record["stderr"])
    for name, place in _PLACES.items():
        out, err = out.replace(name, place), err.replace(name, place)
    if code < 0:
        return Execution(protocol.SIGNAL, (), -code, out, err, (), parse_crash(err))
    if code == 0:
        return Execution(protocol.OK, (), 0, out, err)
    chain = parse_tracebacks(err, "") or parse_tracebacks(out, "")
    return Execution(protocol.EXCEPTION if chain else protocol.EXIT, chain, code, out, err)


def load(role: str, name: str) -> Execution:
    """The recorded run of a program."""
    return execution_of(json.loads((RECORDED / role / f"{name}.json").read_text(encoding="utf-8")))


def main(names: list[str]) -> None:
    for role, name, path, crash in programs():
        if names and name not in names:
            continue
        folder = RECORDED / role
        folder.mkdir(parents=True, exist_ok=True)
        record = run(path, crash)
        (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(role, name, record["code"], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

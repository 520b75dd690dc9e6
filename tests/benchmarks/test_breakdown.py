"""Where a query's time goes: how a sample is named, and what the bare runs measure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import breakdown


@pytest.mark.parametrize(
    ("stack", "phase"),
    [
        (
            "main (shrinkrepro/cli/main.py:10);judge (shrinkrepro/oracles/oracle.py:90);sub (re/__init__.py:185)",
            "judge",
        ),
        ("run (/a/b/shrinkrepro/core/engine.py:10);walk (ast.py:390)", "search"),
        ("run (shrinkrepro/core/engine.py:10);source (shrinkrepro/core/program.py:3)", "render"),
        ("run (shrinkrepro/core/engine.py:10);drop (shrinkrepro_strategies/statements.py:3)", "strategies"),
        ("run (shrinkrepro/core/engine.py:1);refusal (shrinkrepro/core/static.py:3)", "static filter"),
        ("<module> (runpy.py:1);_find_spec (<frozen importlib._bootstrap>:1)", breakdown.ELSEWHERE),
    ],
)
def test_a_sample_belongs_to_the_innermost_frame_of_ours(stack: str, phase: str) -> None:
    assert breakdown.phase_of(stack) == phase


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fork", "loop"])
def test_bare_runs_count_compiling_and_running_apart(mode: str, tmp_path: Path) -> None:
    busy = "import time\nstart = time.process_time()\nwhile time.process_time() < start + 0.1: pass\n"
    sources = [busy, "raise SystemExit(3)", "x = (", busy + "1 / 0"]
    order = tmp_path / "order.json"
    order.write_text(json.dumps({"modules": [], "sources": sources, "mode": mode}))
    done = subprocess.run([sys.executable, str(breakdown.BARE), str(order)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert 0.19 < found["run"] < found["all"]
    assert 0 <= found["compile"] < found["run"]

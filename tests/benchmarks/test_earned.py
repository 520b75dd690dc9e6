"""Accepted steps are counted from the reports of whole reductions."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import earned


def test_a_strategy_counts_once_for_a_case_and_each_time_as_a_step() -> None:
    counted = earned.count([["rename", "rename", "size-one"], ["rename"], []])
    assert counted == {
        "cases": 3,
        "strategies": {"rename": {"cases": 2, "steps": 3}, "size-one": {"cases": 1, "steps": 1}},
    }


def test_only_reports_of_reductions_are_read(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(json.dumps({"steps": [["normal form", "x\n"], ["rename", "y\n"]]}))
    (tmp_path / "a.json").write_text(json.dumps({"steps": [["normal form", "x\n"]]}))
    (tmp_path / "rows.json").write_text(json.dumps([{"name": "a"}]))
    (tmp_path / "a.py").write_text("x\n")
    assert earned.of_reports(tmp_path) == [[], ["rename"]]

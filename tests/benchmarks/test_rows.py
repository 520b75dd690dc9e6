"""The benchmark's table and summary."""

from __future__ import annotations

import math

import pytest

from benchmarks import bench, rows

ROW = rows.Row("a", "exception", 900, 50, after=100, seconds=30.0, ended="minimal", exit_code=0)


def test_cost_is_in_medians_of_all_fresh_runs() -> None:
    row = rows.Row("a", "crash", 9, 3, after=6, seconds=30.0, fresh_before=(2.0, 3.0, 9.0), fresh_after=(3.0, 4.0))
    assert row.fresh == 3.0
    assert row.cost == 10.0
    assert row.ratio == 2.0


def test_summary_names_what_went_wrong() -> None:
    slipped = rows.Row("b", "crash", 900, 10, after=45, seconds=10.0, ended="minimal", slipped=True)
    nothing = rows.Row("c", "crash", 900, 10, error="TargetError: no torch", exit_code=5)
    late = rows.Row("d", "crash", 900, 50, after=50, seconds=10.0, ended="budget", exit_code=1)
    text = rows.summary([ROW, slipped, nothing, late], budget=300)
    assert "4 cases, 3 reduced" in text
    assert "slips: 1 (b)" in text
    assert "not confirmed: 1 (d)" in text
    assert "did not end by itself within 300 s: 2 (c, d)" in text
    assert "over four times the hand version: 1 (b)" in text
    assert "no result: 1 (c)" in text


def test_summary_of_nothing() -> None:
    assert rows.summary([], budget=300).startswith("0 cases")


def test_a_row_says_why_there_is_no_result() -> None:
    text = rows.line(rows.Row("c", "crash", 900, 10, error="no torch", exit_code=5))
    assert "exit 5: no torch" in text
    assert len(rows.line(ROW).splitlines()) == 1


def test_geometric_mean() -> None:
    assert rows.geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert math.isnan(rows.geometric_mean([]))


@pytest.mark.parametrize(("text", "expected"), [("90", 90), ("90s", 90), ("5m", 300), ("1.5h", 5400)])
def test_times(text: str, expected: float) -> None:
    assert bench.seconds(text) == expected


def test_times_that_are_none() -> None:
    with pytest.raises(ValueError, match="5 minutes"):
        bench.seconds("5 minutes")

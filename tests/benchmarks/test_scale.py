"""The simulation of many workers, held to what no schedule can beat or need exceed, and the page made from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("simpy", reason="simpy is not installed: pip install -e '.[dev]'")

from benchmarks.scale import differing, gain
from benchmarks.scale_model import Costs, Harvest, replay, simulate, worth
from benchmarks.scale_page import costs_of, page

COSTS = Costs(
    check=(2.0,), reduce=(30.0, 60.0), start=0.0, event=0.0, check_events=3.0, reduce_events=30.0, queries=1000.0
)
DURATIONS = st.lists(st.floats(0.5, 100.0), min_size=1, max_size=30)


@settings(max_examples=50, deadline=None)
@given(DURATIONS, st.integers(1, 40))
def test_a_stage_takes_what_a_list_schedule_may(durations: list[float], workers: int) -> None:
    found = replay(COSTS, [], durations, workers)
    least = max(max(durations), sum(durations) / workers)
    assert least - 1e-6 <= found.seconds <= sum(durations) / workers + max(durations) + 1e-6
    assert found.efficiency == pytest.approx(sum(durations) / workers / found.seconds)


@settings(max_examples=20, deadline=None)
@given(DURATIONS, DURATIONS)
def test_reductions_begin_when_all_checks_have_ended(checks: list[float], reductions: list[float]) -> None:
    found = replay(COSTS, checks, reductions, 1000)
    assert found.seconds == pytest.approx(max(checks) + max(reductions))


def test_a_driver_or_a_cache_that_is_slow_is_the_limit() -> None:
    harvest = Harvest(200, 100)
    free = simulate(COSTS, harvest, 100)
    slow = simulate(replace(COSTS, event=0.5), harvest, 100)
    assert slow.seconds > 100 * 30 * 0.5 > 2 * free.seconds
    assert slow.driver > 0.9
    cached = simulate(replace(COSTS, lookup=0.01), harvest, 100)
    assert cached.seconds > 100 * 1000 * 0.01
    assert cached.cache > 0.9


def test_more_workers_than_works_do_not_pay() -> None:
    assert 16 <= worth(COSTS, Harvest(64, 32)) <= 64
    assert simulate(COSTS, Harvest(10, 10), 1000).efficiency < 0.02


def _run(workers: int, rate: float, text: str = "x") -> dict[str, Any]:
    works = [
        {"name": "a", "kind": kind, "begun": 0.0, "ended": ended, "sent": 100, "heard": 200, "events": 3, "steps": 1,
         "ending": "minimal" if kind == "reduce" else "done", "text": text if kind == "reduce" else ""}
        for kind, ended in (("check", 2.0), ("reduce", 30.0))
    ]  # fmt: skip
    return {"workers": workers, "start": 5.0, "seconds": 32.0, "driver": 0.1, "load": 1.0, "rate": rate, "works": works}


def test_the_gain_is_of_means_and_results_that_differ_are_told() -> None:
    runs = [_run(1, 1.0), _run(2, 1.8), _run(1, 1.2), _run(2, 2.0)]
    assert gain(runs) == pytest.approx(1.9 / 1.1)
    assert differing(runs) == []
    assert differing([*runs, _run(2, 2.0, "y")]) == ["a"]
    assert gain(runs[:1]) == 0


def test_the_page_is_made_of_the_measurements() -> None:
    data = {
        "machine": {"cores": 2, "python": "3.11", "system": "Linux"}, "date": "2026-01-02", "budget": 60.0,
        "talk": {"event": 0.001, "event_wall": 0.002, "lookup": 0.002, "lookup_cpu": 0.001},
        "shared": {"same": 0.1, "other": 0.01, "queries": 1000.0, "phases": [{"reducing": 20.0}]},
        "runs": [_run(1, 1.0), _run(2, 1.9)], "gain": 1.9, "differing": [],
    }  # fmt: skip
    assert costs_of(data) == Costs((2.0,), (30.0,), 5.0, 0.001, 3.0, 3.0, 1000.0)
    text = page(data, [Harvest(20, 5)])
    for told in ("2026-01-02", "**1.90 times**", "1,000 a second", "20 scripts with 5 bugs", "| 1,000 |", "10.0%"):
        assert told in text
    assert all(len(line) <= 120 or line.startswith("|") for line in text.splitlines())

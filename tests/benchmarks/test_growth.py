"""The generated scripts are what they say, and the judgement of growth sees what grows too fast."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import growth, growth_scripts

ROW = growth.Row("item", 100, 700, 60, 20.0, 15.0, 2.0, 23, "minimal", "f()\n")


@settings(max_examples=20)
@given(st.sampled_from(sorted(growth_scripts.FAILURES)), st.integers(200, 3000), st.integers(0, 9))
def test_a_script_has_the_length_asked_for_and_the_same_failing_part(failure: str, lines: int, seed: int) -> None:
    script = growth_scripts.make(failure, lines, seed)
    ast.parse(script.source)
    assert abs(script.lines - lines) < 40  # a block or two
    assert growth_scripts.FAILURES[failure] in script.source
    assert script.source.count("signal = prepare_") == growth_scripts.LINKS
    assert script == growth_scripts.make(failure, lines, seed)


def test_there_is_no_other_failure() -> None:
    with pytest.raises(ValueError, match="'crash'; there are item"):
        growth_scripts.make("crash", 100)


def test_the_same_number_of_queries_for_each_decade_is_logarithmic() -> None:
    rows = [replace(ROW, lines=100 * 10**k, queries=60 + 200 * k) for k in range(3)]
    assert growth.shortcomings(rows) == []


def test_what_grows_too_fast_is_told() -> None:
    rows = [replace(ROW, lines=lines, queries=lines) for lines in (100, 1000, 10000)]
    assert growth.shortcomings(rows) == ["item: a decade of lines adds 9000 queries, the one before it 900"]


def test_another_program_and_a_spent_budget_are_told() -> None:
    late = replace(ROW, lines=1000, seconds=301.0, ended="budget", source="g()\n", after=25)
    first, second = growth.shortcomings([ROW, late])
    assert first == "item: 1000 lines: budget after 301 s"
    assert second == "item: not the same program at every length (23, 25 tokens)"

"""What a strategy is worth, from rows with and without it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.ablation import Row, read, table, worth

FULL = Row("c0de", "a", "", 20, 100, 9.0, "minimal", ("rename", "size-one"))


def rows(*more: Row) -> dict[tuple[str, str], Row]:
    return {(row.case, row.without): row for row in (FULL, replace(FULL, case="b"), *more)}


def test_a_larger_file_shows_that_a_strategy_earns() -> None:
    found = worth("rename", rows(replace(FULL, without="rename", after=21), replace(FULL, case="b", without="rename")))
    assert (found.cases, found.tokens, found.earns) == (2, (40, 41), True)


def test_a_fifth_more_queries_show_it_and_fewer_do_not() -> None:
    assert worth("rename", rows(replace(FULL, without="rename", queries=120))).earns
    assert not worth("rename", rows(replace(FULL, without="rename", queries=119))).earns


def test_a_case_without_a_result_is_no_saving() -> None:
    found = worth("rename", rows(replace(FULL, without="rename", after=-1, queries=0)))
    assert (found.lost, found.queries, found.earns) == (1, (0, 0), True)


def test_the_table_names_what_was_left_out_and_what_never_was_accepted() -> None:
    text = table(["rename", "size-one", "drop-hook"], rows(replace(FULL, without="rename")))
    assert [line.split()[0] for line in text.splitlines()] == ["strategy", "rename", "never"]
    assert text.endswith("never accepted in 2 full reductions: drop-hook")


def test_rows_of_other_code_are_not_reused(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    assert read(file, "c0de") == {}
    file.write_text("".join(json.dumps(asdict(row)) + "\n" for row in (FULL, replace(FULL, case="b", code="0ther"))))
    assert read(file, "c0de") == {("a", ""): FULL}

"""The catalogue says of every strategy what its docstring says."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkrepro.core.registry import load_strategies
from shrinkrepro.errors import UsageError
from shrinkrepro.report.catalogue import Earned, as_lines, as_markdown, in_order


def test_one_line_for_each_strategy_in_the_order_of_tiers() -> None:
    strategies = load_strategies()
    assert strategies
    lines = as_lines(strategies).splitlines()
    assert [line.split()[1] for line in lines] == [strategy.name for strategy in in_order(strategies)]
    assert all(line.endswith(strategy.summary) for line, strategy in zip(lines, in_order(strategies)))


def test_the_markdown_names_each_once() -> None:
    strategies = load_strategies()
    text = as_markdown(strategies)
    for strategy in strategies:
        assert text.count(f"### {strategy.name}\n") == 1


def test_the_catalogue_in_the_repository_is_the_one_of_the_docstrings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHRINKREPRO_NO_PLUGINS", "1")
    folder = Path(__file__).resolve().parents[2] / "strategies"
    made = as_markdown(load_strategies(), Earned.read(folder / "earned.json"))
    assert (folder / "README.md").read_text(encoding="utf-8") == made + "\n", "run make catalogue"


def test_what_a_strategy_earned_is_said_of_it(tmp_path: Path) -> None:
    file = tmp_path / "earned.json"
    file.write_text(
        '{"cases": 9, "strategies": {"rename": {"cases": 3, "steps": 4}, "size-one": {"cases": 1, "steps": 1}}}'
    )
    text = as_markdown(load_strategies(), Earned.read(file))
    parts = {part.split("\n")[0]: part.strip().splitlines()[-1] for part in text.split("\n### ")[1:]}
    assert parts["rename"] == "Earned: in 3 of 9 cases, 4 steps in all."
    assert parts["size-one"] == "Earned: in 1 of 9 cases, 1 step in all."
    assert "Earned: in none of 9 cases." in text.split("\n### drop-name\n")[1].split("\n##")[0]


@pytest.mark.parametrize("text", ["", "[]", '{"cases": 9}', '{"cases": 9, "strategies": {"rename": 4}}'])
def test_a_file_that_holds_no_counts_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "earned.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"earned\.json holds no counts"):
        Earned.read(file)
    with pytest.raises(UsageError, match=r"none\.json holds no counts"):
        Earned.read(tmp_path / "none.json")

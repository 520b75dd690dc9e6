"""The catalogue says of every strategy what its docstring says."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkrepro.core.registry import load_strategies
from shrinkrepro.report.catalogue import as_lines, as_markdown, in_order


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
    catalogue = Path(__file__).resolve().parents[2] / "strategies" / "README.md"
    assert catalogue.read_text(encoding="utf-8") == as_markdown(load_strategies()) + "\n", "run make catalogue"

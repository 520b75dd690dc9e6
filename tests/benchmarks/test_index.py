"""INDEX.tsv and the files that it names agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import index, tokens

CASES = index.load()
KINDS = {"exception", "crash", "mismatch-assert", "mismatch-print"}
REMOVALS = {"primal", "vmap", "compile", "functionalize", "jacfwd", "reference", "none"}


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_row_is_whole(case: index.Case) -> None:
    assert case.script.is_file()
    assert case.by_hand.is_file()
    assert case.kind in KINDS
    assert case.removed in REMOVALS or case.removed.startswith("op:")
    assert case.source
    re.compile(case.signature)
    assert (case.args[:1] == ("--differs",)) == (case.kind == "mismatch-print")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_hand_version_keeps_and_is_smaller(case: index.Case) -> None:
    source = case.by_hand.read_text(encoding="utf-8")
    assert re.search(case.keeps, source)
    assert tokens.count(source) < sum(tokens.count(p.read_text(encoding="utf-8")) for p in case.sources) / 4


def test_every_file_belongs_to_a_row() -> None:
    named = {p for c in CASES for p in (*c.sources, c.by_hand)}
    assert set(index.CASES.rglob("*.py")) == named
    assert len({c.name for c in CASES}) == len(CASES)


def test_select_by_kind_and_by_beginning_of_the_name() -> None:
    assert {c.kind for c in index.select(CASES, kinds=["crash"])} == {"crash"}
    assert [c.name[:6] for c in index.select(CASES, only=["vmap04", "ad16"])] == ["ad16_f", "vmap04"]
    assert index.select(CASES) == CASES


def test_select_names_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="nothing"):
        index.select(CASES, kinds=["nothing"])
    with pytest.raises(ValueError, match="zz"):
        index.select(CASES, only=["ad16", "zz"])


def test_quotes_in_args_are_a_shell_s(tmp_path: Path) -> None:
    header = "name\tpath\tkind\targs\tsignature\tkeeps\tremoved\tsource\n"
    table = tmp_path / "INDEX.tsv"
    table.write_text(
        header + "a\ta.py\tmismatch-print\t--differs 'rows[\"x\"] / 2' b\t'q\"\t\tnone\tx\n", encoding="utf-8"
    )
    [case] = index.load(table)
    assert case.args == ("--differs", 'rows["x"] / 2', "b")
    assert case.signature == "'q\""

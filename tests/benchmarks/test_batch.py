"""The batch benchmark: what it calls the truth, and how groups are judged by it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.batch import judge, read, shortcomings, write
from benchmarks.batch_scripts import Harvest, Script, preload_of, rand_index, run_all
from benchmarks.injected.index import select

LABELS = st.lists(st.sampled_from("abcd"), min_size=2, max_size=12)


def _named(labels: list[str]) -> dict[str, str]:
    return {str(n): label for n, label in enumerate(labels)}


@given(LABELS)
def test_equal_partitions_have_the_index_one_whatever_their_labels(labels: list[str]) -> None:
    assert rand_index({name: f"group of {label}" for name, label in _named(labels).items()}, _named(labels)) == 1


@given(LABELS, st.randoms())
def test_the_index_is_symmetric_and_at_most_one(labels: list[str], chance: object) -> None:
    other = list(labels)
    chance.shuffle(other)  # type: ignore[attr-defined]
    found, truth = _named(other), _named(labels)
    assert rand_index(found, truth) == pytest.approx(rand_index(truth, found))
    assert rand_index(found, truth) <= 1


def test_the_index_of_a_worked_example() -> None:
    # The contingency table (2 1 / 1 2 / 0 0) by hand: 2 pairs in both, 6 in each, 15 in all.
    assert rand_index(_named(list("aaabbb")), _named(list("aabbba"[:6]))) == pytest.approx((2 - 2.4) / (6 - 2.4))


SCRIPTS = [
    Script("1", "", "plant x"), Script("2", "", "plant x"), Script("3", "", "plant y"), Script("4", "", "case z"),
    Script("5", "", None),
]  # fmt: skip


def test_right_groups_lack_nothing() -> None:
    outcome = judge(SCRIPTS, {"1": "1", "2": "1", "3": "2", "4": "3", "5": ""}, 10.0)
    assert (outcome.groups, outcome.bugs, outcome.rand_index) == (3, 3, 1.0)
    assert (outcome.mixed, outcome.split, outcome.lost, outcome.strangers) == ((), (), (), ())
    assert shortcomings(outcome, 40.0) == []


def test_each_wrong_is_told() -> None:
    outcome = judge(SCRIPTS, {"1": "1", "2": "2", "3": "1", "5": "1"}, 10.0)
    assert outcome.mixed == ("1: plant x, plant y",)
    assert outcome.split == ("plant x: 2",)
    assert outcome.lost == ("4",)
    assert outcome.strangers == ("5",)
    told = "\n".join(shortcomings(outcome, 20.0))
    assert "two planted bugs in one group" in told
    assert "5 has no failure" in told
    assert "adjusted Rand index" in told
    assert "cost 0.50 of reducing each on its own" in told


def test_a_harvest_is_read_back(tmp_path: Path) -> None:
    drawn = Harvest(tuple(SCRIPTS), "import runpy\n")
    write(drawn, tmp_path)
    assert read(tmp_path) == drawn


@pytest.mark.torch
@pytest.mark.slow
def test_a_host_fails_with_its_plant_and_another_does_not(tmp_path: Path) -> None:
    files = [tmp_path / "host.py", tmp_path / "other.py"]
    for file, injection in zip(files, select(["hessian_rsqrt", "grad_atan2_sign"]), strict=True):
        file.write_text(injection.host)
    [plant, _] = [injection.preload for injection in select(["hessian_rsqrt", "grad_atan2_sign"])]
    assert run_all(files, [plant]) == [1, 0]
    assert str(plant) in preload_of([plant])

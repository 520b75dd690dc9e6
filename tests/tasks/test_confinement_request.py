"""What is asked of confinement is looked at before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.errors import UsageError
from shrinkrepro.session import Confinement, Request
from shrinkrepro.tasks.inputs import checked, parse_size


@given(st.integers(1, 10**6), st.sampled_from(["", "K", "M", "G", "T"]), st.sampled_from(["", "B", "iB"]))
def test_a_size_is_its_number_times_its_unit(number: int, unit: str, suffix: str) -> None:
    size = number * 1024 ** " KMGT".index(unit or " ")
    assert parse_size(f"{number}{unit}{suffix}", "--memory") == size
    assert parse_size(f"{number} {unit}{suffix}".lower(), "--memory") == size


@pytest.mark.parametrize("text", ["", "0", "0G", "4X", "-1G", "G", "1e9", "4 G B", "0.0000001"])
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="--memory"):
        parse_size(text, "--memory")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Confinement(allow_write=(Path("no/such/file"),)), "no/such/file does not exist"),
        (Confinement(allow_write=(Path("/"),)), "is everything"),
        (Confinement(memory=0), "--memory 0"),
        (Confinement(sandbox=False, network=True), "--allow-network has no place"),
        (Confinement(sandbox=False, allow_write=(Path("/tmp"),)), "--allow-write has no place"),
    ],
)
def test_what_cannot_work_is_one_line(asked: Confinement, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        checked(Request(None, text="import torch\n", confinement=asked))
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_what_can_work_passes(tmp_path: Path) -> None:
    asked = Confinement(network=True, allow_write=(tmp_path,), memory=1 << 30)
    assert checked(Request(None, text="import torch\n", confinement=asked)).confinement == asked

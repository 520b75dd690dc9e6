"""Warm servers that go from one script to the next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkrepro.protocol import OK, RUN, Job
from shrinkrepro.workers.shelf import Shelf
from tests.workers.conftest import make_target

pytestmark = pytest.mark.torch
JOB = Job("import wave\nprint(wave.__name__)\n", RUN, 60.0, alone=True)


def test_a_pool_is_kept_for_the_same_surroundings_and_learns_new_modules(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    shelf = Shelf()
    with shelf.take(target, 1) as first:
        assert "wave" not in first.info.modules
        assert first.run([JOB])[0].status == OK
    with shelf.take(replace(target, modules=("wave",)), 1) as second:
        assert second is first
        assert "wave" in second.info.modules
        assert second.run([JOB])[0].status == OK
    scratch = first.scratch
    assert scratch.exists()
    other = shelf.take(replace(target, seed=1), 1)  # ends the kept one; its own servers start when they are needed
    assert other is not first
    assert not scratch.exists()
    other.close()
    shelf.close()
    assert not other.scratch.exists()


def test_two_pools_at_a_time_are_two(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    shelf = Shelf()
    one, two = shelf.take(target, 1), shelf.take(target, 1)
    assert one is not two
    one.close()
    two.close()
    assert not one.scratch.exists()
    assert two.scratch.exists()
    shelf.close()
    assert not two.scratch.exists()

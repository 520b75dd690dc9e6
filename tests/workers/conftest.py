"""One pool for all tests of a module: starting a server takes seconds, a job milliseconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target


def make_target(folder: Path, **changes: object) -> Target:
    """A target whose script stands in ``folder``."""
    script = folder / "script.py"
    if not script.exists():
        script.write_text("")
    return Target(python=sys.executable, script_path=script, cwd=folder, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Target:
    return make_target(tmp_path_factory.mktemp("script"))


@pytest.fixture(scope="module")
def pool(target: Target) -> Iterator[Pool]:
    with Pool(target, jobs=2) as pool:
        yield pool

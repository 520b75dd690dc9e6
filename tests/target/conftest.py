"""One pool for all tests of a module, on the interpreter under test or the one that SHRINKREPRO_TARGET names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("script")
    (folder / "script.py").write_text("")
    python = os.environ.get("SHRINKREPRO_TARGET", sys.executable)
    with Pool(Target(python=python, script_path=folder / "script.py", cwd=folder), jobs=1) as pool:
        yield pool

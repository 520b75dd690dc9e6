"""The corpus of this repository: every case can be read, is as it was reduced, and is told in its README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.corpus import CORPUS, REBUILT, ROOT, sources
from shrinkrepro.core.program import count_tokens
from shrinkrepro.corpus import block
from shrinkrepro.corpus.case import read
from shrinkrepro.corpus.folder import find
from shrinkrepro.tasks.case_signature import oracle_of

CASES = sorted(CORPUS.glob("*.py"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_is_as_it_was_reduced(path: Path) -> None:
    case = read(path)
    row = sources()[case.name]
    assert not case.edited
    assert oracle_of(case).signature.describe() == case.failure
    assert case.reduction["original"] == Path(row["original"]).name
    assert (ROOT / row["original"]).is_file()
    assert (case.title, case.origin) == (row["title"], row["origin"])
    assert count_tokens(block.program(case.text)) == case.reduction["tokens-after"] < case.reduction["tokens-before"]


def test_no_case_is_in_the_way_of_another() -> None:
    found = find([CORPUS])
    assert found.problems == ()
    assert set(REBUILT) <= {case.name for case in found.cases}
    assert len({block.program(case.text) for case in found.cases}) == len(found.cases)


def test_the_readme_lists_every_case() -> None:
    text = (CORPUS / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^\| \[`(\w+)`\]\(\1\.py\)", text)
    assert sorted(listed) == [path.stem for path in CASES]


def test_every_source_has_its_case() -> None:
    assert sorted(sources()) == [path.stem for path in CASES]

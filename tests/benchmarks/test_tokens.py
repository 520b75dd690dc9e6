"""The benchmark's own token count."""

from __future__ import annotations

import pytest

from benchmarks import index, tokens
from shrinkrepro.core.program import count_tokens


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", 0),
        ("# only a comment\n\n", 0),
        ("x = 1\n", 3),
        ("if x:\n    y = (1,\n         2)  # two\n", 10),
        ('f"{a + b!r:>{width}} and {c}"\n', 1),
        ("""print(f"{f'{x}'} {y}", rf'{z}')\n""", 6),
        ("a; b\n", 3),
        ("@d\ndef f(): ...\n", 8),
    ],
)
def test_counts_lexical_tokens_and_an_fstring_as_one(source: str, expected: int) -> None:
    assert tokens.count(source) == expected


def test_refuses_what_is_no_python() -> None:
    with pytest.raises(Exception, match="EOF"):
        tokens.count("f(")


def test_the_product_counts_alike() -> None:
    for case in index.load():
        for path in (*case.sources, case.by_hand):
            source = path.read_text(encoding="utf-8")
            assert tokens.count(source) == count_tokens(source), path

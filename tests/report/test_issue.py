"""A report as Markdown: its program comes out of it as it went in, and GitHub takes it whole."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkrepro.errors import UsageError
from shrinkrepro.report.bug import Bug, Elsewhere, NeighbourRow, mapped
from shrinkrepro.report.issue import ADDRESS_LIMIT, LIMIT, PLACE, github, markdown, new_issue_address, search_address
from shrinkrepro.tasks.report import pasted

BUG = Bug(
    title="vmap of nn.GRU: RuntimeError: Batching rule not implemented for aten::gru.input",
    summary="`vmap` of `torch.nn.GRU` raises `RuntimeError`.",
    kind="exception",
    program="import torch\n\ntorch.vmap(torch.nn.GRU(1, 1))(torch.zeros(1, 1, 1))\n",
    expected="the program ends normally.",
    actual="case.py:3 in <module>\nRuntimeError: Batching rule not implemented",
    output="Traceback (most recent call last):\n  ...\nRuntimeError: Batching rule not implemented\n",
    failure="RuntimeError: Batching rule not implemented",
    torch="2.13.0",
    python="3.11.7",
    rows=(
        NeighbourRow("transforms", "without vmap", "passes", "", "pass\n"),
        NeighbourRow("dtype", "float64 | x", "fails the same", "", "pass\n"),
        NeighbourRow("dtype", "complex64", "fails otherwise", "RuntimeError: no", "pass\n"),
    ),
    not_asked=("compile: inductor",),
    nearest="without vmap",
    diff="--- fails\n+++ passes\n@@ -1 +1 @@\n-a\n+b",
    environment="PyTorch version: 2.13.0\n",
    reduction={"tokens-before": 1947, "tokens-after": 29, "queries": 89, "seconds": 41.2},
    origin="https://github.com/pytorch/pytorch/issues/134606",
    query='repo:pytorch/pytorch is:issue "Batching rule not implemented" GRU',
    labels=("module: vmap",),
    version="0.1.0",
    confirmed=True,
)


def test_the_fields_of_pytorchs_form_come_in_their_order() -> None:
    text = github(BUG)
    heads = [line for line in text.splitlines() if line.startswith("### ")]
    assert heads == ["### 🐛 Describe the bug", "### Versions"]
    assert text.index(BUG.summary) < text.index(BUG.program) < text.index("**Expected:**") < text.index("**Actual:**")


def test_a_person_is_asked_for_words_and_a_tool_is_named() -> None:
    assert PLACE in github(BUG)
    assert "reduced the program too, from 1947 to 29 tokens in 89 queries and 41 s" in github(BUG)
    mine = github(replace(BUG, words="It broke my training."))
    assert PLACE not in mine
    assert "It broke my training." in mine


def test_the_neighbourhood_says_only_what_was_run() -> None:
    text = github(BUG)
    assert "3 programs beside it (1 passes, 1 fails the same, 1 fails otherwise)" in text
    other = NeighbourRow("dtype", "complex128", "fails otherwise", "RuntimeError: no", "pass\n")
    assert "| complex64, complex128 (each `RuntimeError: no`) |" in github(replace(BUG, rows=(*BUG.rows, other)))
    slow = NeighbourRow("dtype", "float16", "not settled", "it did not end in its time", "pass\n")
    assert "Run without an answer: float16 (it did not end in its time)." in github(
        replace(BUG, rows=(*BUG.rows, slow))
    )
    assert "| dtype | – | float64 \\| x | complex64 (`RuntimeError: no`) |" in text
    assert "Not run, for lack of time: compile: inductor." in text
    assert "beside it" not in github(replace(BUG, rows=(), not_asked=(), nearest="", diff=""))


def test_plain_markdown_has_the_title_and_no_html() -> None:
    text = markdown(BUG)
    assert text.startswith(f"# {BUG.title}\n")
    assert "<details>" not in text
    assert "<!--" not in text


def test_other_versions_are_told() -> None:
    text = github(replace(BUG, elsewhere=(Elsewhere("2.0.1", "3.10.1", "ends normally"),)))
    assert "- torch 2.0.1, Python 3.10.1: ends normally" in text


LINES = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=30)


@settings(max_examples=50)
@given(
    st.lists(
        st.one_of(LINES, st.sampled_from(["```", "````python", "~~~", "    x", "</details>", "-->", ""])), min_size=1
    )
)
def test_a_program_comes_out_as_it_went_in(lines: list[str]) -> None:
    program = "\n".join(["import torch", *lines]) + "\n"
    bug = replace(BUG, program=program)
    assert pasted(github(bug)) == program
    assert pasted(markdown(bug)) == program


@settings(max_examples=20)
@given(st.integers(0, 200_000), st.integers(0, 200_000), st.integers(0, 2_000))
def test_github_takes_it_whole(output: int, environment: int, rows: int) -> None:
    long = replace(
        BUG,
        output="a line of output\n" * (output // 17),
        actual="a frame\n" * (output // 80),
        environment="a line of it\n" * (environment // 13),
        rows=BUG.rows * (rows // 3),
    )
    text = github(long)
    assert len(text) <= LIMIT
    assert pasted(text) == BUG.program


def test_a_program_that_is_too_long_is_told() -> None:
    with pytest.raises(UsageError, match=r"70,\d+ characters"):
        github(replace(BUG, program="x = 1\n" * 11_500))


@pytest.mark.parametrize("size", [10, 3_000, 90_000])
def test_an_address_fits_and_has_the_program_if_it_can(size: int) -> None:
    bug = replace(BUG, program="import torch\n" + "y" * size + "\n", output="x\n" * 5_000, environment="é\n" * 9_000)
    address = new_issue_address(bug)
    assert len(address) <= ADDRESS_LIMIT
    asked = parse_qs(urlsplit(address).query)
    assert asked["title"] == [BUG.title]
    assert (bug.program in asked["body"][0]) == (size < 4_000)


def test_the_search_is_the_trackers_own() -> None:
    parts = urlsplit(search_address(BUG))
    assert (parts.netloc, parts.path) == ("github.com", "/pytorch/pytorch/issues")
    assert parse_qs(parts.query) == {"q": [BUG.query]}


def test_a_change_reaches_every_text() -> None:
    changed = mapped(BUG, str.upper)
    assert changed.rows[1].title == "FLOAT64 | X"
    assert changed.reduction["tokens-before"] == 1947
    assert changed.environment == BUG.environment.upper()
    assert mapped(BUG, lambda text: text) == BUG

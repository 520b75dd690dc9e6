"""The index of a batch, in its three forms, and what is shown while it goes on."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser

import pytest
from rich.console import Console

from shrinkrepro.report.batch_index import headline, index_html, index_json, index_markdown, summary
from shrinkrepro.report.batch_live import BatchLines, BatchTable
from shrinkrepro.tasks.batch_request import BatchResult, Group, ScriptRow

SOURCE = "import torch\n\nassert torch.vmap(torch.sin)(torch.ones(2))[0] < 0, '<&>'\n"
GROUPS = (
    Group(1, "wrong values: sin under vmap", "AssertionError: <n> | off", "wrong values: sin under vmap",
          ("a.py", "b|c.py"), ("a.py",), SOURCE, 20, "groups/001_a.py", True),
    Group(2, "RuntimeError: x", "RuntimeError: x", "", ("d.py",), (), "", 0, why="it fails only sometimes"),
)  # fmt: skip
ROWS = (
    ScriptRow("a.py", "reduced", 1, "AssertionError", tokens=90, tokens_after=20, confirmed=True, seconds=8.0),
    ScriptRow("b|c.py", "same bug", 1, "AssertionError", tokens=95),
    ScriptRow("d.py", "not reduced", 2, "RuntimeError: x", "it fails only sometimes"),
    ScriptRow("<script>.py", "passes", why="it does not fail"),
    ScriptRow("f.py", "refused", why="a syntax error | in line 3", hint="mend it"),
)
RESULT = BatchResult(GROUPS, ROWS, "done", 12.0, {"check": 3.0, "reduce": 700.0})


def test_the_headline_and_the_summary_count() -> None:
    assert headline(RESULT) == "3 failing scripts, 2 bugs"
    assert summary(RESULT) == (
        "5 scripts: 1 reduced, 1 with a bug that another shows smaller, 1 not reduced, 1 without a failure, "
        "1 that cannot be run or judged."
    )


@pytest.mark.parametrize(("ended", "words"), [("budget", "budget was spent"), ("interrupted", "Interrupted")])
def test_an_unfinished_run_says_that_it_goes_on(ended: str, words: str) -> None:
    told = summary(BatchResult(GROUPS, ROWS, ended, 1.0))
    assert words in told
    assert "the same command goes on" in told


def test_json_has_everything() -> None:
    data = json.loads(index_json(RESULT, "1.2"))
    assert data["groups"][0]["source"] == SOURCE
    assert [row["name"] for row in data["rows"]] == [row.name for row in ROWS]
    assert data["shrinkrepro"] == "1.2"


def test_markdown_keeps_its_tables_whole() -> None:
    text = index_markdown(RESULT)
    for line in text.splitlines():
        if line.startswith("| "):
            cells = line.replace("\\|", "").count("|")
            assert cells in (6, 4), line
    assert f"```python\n{SOURCE.rstrip()}\n```" in text
    assert "[groups/001_a.py](groups/001_a.py)" in text
    assert "12 min of workers" in text


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids.add(found.get("id") or "")
        self.targets.add(found.get("href") or found.get("src") or "")
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_asks_for_nothing_and_its_links_lead_somewhere() -> None:
    text = index_html(RESULT, "1.2")
    page = _Links()
    page.feed(text)
    assert page.open == []
    assert {target[1:] for target in page.targets if target.startswith("#")} <= page.ids
    assert {t for t in page.targets if t and not t.startswith("#")} == {"groups/001_a.py", "data:,"}
    assert "&lt;script&gt;.py" in text
    assert "<script>" not in text


def test_plain_lines_say_what_became_of_each_script() -> None:
    stream = io.StringIO()
    with BatchLines(stream) as lines:
        lines.stage("checking", 1)
        lines.began("a.py", "")
        lines.ended("a.py", "fails: x")
        lines.stage("reducing", 0)
    told = [line.split("s  ", 1)[1] for line in stream.getvalue().splitlines()]
    assert told == ["checking: 1", "1/1  a.py  fails: x"]


def test_the_table_shows_groups_and_what_is_under_way() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, height=20)
    table = BatchTable(console)
    table.stage("reducing", 3)
    table.began("a.py", "")
    table.smaller("a.py", 41)
    table.groups([(f"bug [{n}]", 30 - n, "") for n in range(20)])
    table.ended("gone.py", "fails: [x]")
    with console.capture() as captured:
        console.print(table._draw())
    text = captured.get()
    for words in ("reducing, 1 of 3", "a.py", "41 tokens", "bug [0]", "more", "gone.py: fails: [x]"):
        assert words in text
    assert len(text.splitlines()) <= 20

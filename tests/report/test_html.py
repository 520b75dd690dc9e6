"""The HTML report: one file that asks for nothing, whatever stands in the report."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from shrinkrepro.errors import UsageError
from shrinkrepro.report.bug import Bug, NeighbourRow, Step
from shrinkrepro.report.curve import curve, measured
from shrinkrepro.report.html import LIMIT, html

pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")

STEPS = tuple(
    Step(f"pass-{i % 7}", "import torch\n" + "x = 1\n" * (40 - i), 4 * (40 - i) + 2, 10 * i, 0.5 * i) for i in range(40)
)
BUG = Bug(
    title="a title with <b>marks</b> & more",
    summary="`vmap` of `torch.x` raises.",
    kind="exception",
    program="import torch\nx = '<script>alert(1)</script>'\n",
    expected="the program ends normally.",
    actual="RuntimeError: <no>",
    output="RuntimeError: <no>",
    failure="RuntimeError",
    torch="2.13.0",
    python="3.11.7",
    rows=(
        NeighbourRow("dtype", "float64", "fails the same", "", "import torch\n"),
        NeighbourRow("dtype", "complex64", "fails otherwise", "RuntimeError: other", "import torch\n"),
        NeighbourRow("requires_grad", "on", "passes", "", "import torch\n"),
    ),
    nearest="on",
    diff="--- fails\n+++ passes\n@@ -1 +1 @@\n-a\n+b",
    steps=STEPS,
    reduction={"tokens-before": 162, "tokens-after": 6, "queries": 390, "seconds": 19.5},
)


class Seen(HTMLParser):
    """What a page loads, links to, and has as text outside of script and style."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "data", "action")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def seen(page: str) -> Seen:
    parser = Seen()
    parser.feed(page)
    return parser


@pytest.fixture(scope="module")
def page() -> str:
    return html(BUG)


def test_the_page_loads_nothing(page: str) -> None:
    assert seen(page).loads == ["data:,"]
    assert "default-src 'none'" in page
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", page)
    assert len(page.encode()) < LIMIT


def test_what_stands_in_a_report_is_text(page: str) -> None:
    found = seen(page)
    assert found.tags.count("script") == 1
    assert "b" not in found.tags
    assert BUG.program in found.text
    assert BUG.title in found.text


def test_the_curve_is_drawn_over_queries_and_seconds_in_two_widths(page: str) -> None:
    labels = re.findall(r'<svg role="img" aria-label="([^"]*)"', page)
    assert labels == 2 * [
        "Tokens over queries: from 162 to 6 in 40 accepted steps and 390 queries",
        "Tokens over seconds: from 162 to 6 in 40 accepted steps and 20 seconds",
    ]
    assert page.count('class="step"') == len(STEPS)


def test_an_outcome_is_told_by_a_word_and_a_sign(page: str) -> None:
    for sign, word in (("✓", "passes"), ("✗", "fails the same"), ("≠", "fails otherwise")):
        assert f"{sign} {word}: 1" in page
        assert f"</span> {'on' if sign == '✓' else 'float64' if sign == '✗' else 'complex64'}" in page


def test_without_steps_the_page_says_how_to_get_them() -> None:
    page = html(replace(BUG, steps=()))
    assert "<svg" not in page
    assert "--record" in page


def test_steps_whose_time_is_not_known_have_no_curve_but_are_shown() -> None:
    old = tuple(replace(step, queries=-1, seconds=-1.0) for step in STEPS)
    assert not measured(old)
    page = html(replace(BUG, steps=old))
    assert "<svg" not in page
    assert page.count('class="step"') == len(STEPS)


def test_a_long_reduction_fits() -> None:
    large = tuple(
        Step("drop", "".join(f"value_{i}_{j} = {j}\n" for j in range(1600)), 4800, i, float(i)) for i in range(120)
    )
    page = html(replace(BUG, steps=large))
    assert len(page.encode()) < LIMIT
    assert page.count('class="step"') == len(large)


def test_the_curve_takes_the_colour_of_the_text() -> None:
    svg = curve(STEPS, "queries", 400)
    assert "currentColor" in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_a_program_too_long_for_a_page_is_told() -> None:
    with pytest.raises(UsageError, match="bytes"):
        html(replace(BUG, steps=(), output="x" * (LIMIT + 1)))

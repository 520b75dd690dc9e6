"""The HTML report in a real browser: headless Chromium, driven by Playwright, judged by axe.

Skipped where one of these is not there; ``make test-browser`` installs what it may.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shrinkrepro.report.bug import Bug, NeighbourRow, Step
from shrinkrepro.report.html import html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDED = ("playwright", "axe_playwright_python", "jinja2", "vl_convert")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None] + ([] if CHROMIUM else ["chromium"])
WIDTHS = (360, 800, 1400)
SHOTS = os.environ.get("SHRINKREPRO_SHOTS")  # a folder for screenshots

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: make test-browser installs it")

STEPS = tuple(
    Step(
        f"drop-part-{i % 7}",
        "import torch\n\n" + "".join(f"value_{j} = torch.zeros({j}, 1)\n" for j in range(30 - i)),
        11 * (30 - i) + 2,
        20 * i,
        1.5 * i,
    )
    for i in range(30)
)
LONG = "a_long_name_without_any_place_to_break_it_" * 4
BUG = Bug(
    title="jacfwd of cdist: NotImplementedError: Trying to use forward AD with _euclidean_dist",
    summary="`jacfwd` of `torch.cdist` raises `NotImplementedError` in `cdist`, under vmap of jvp.",
    kind="exception",
    program=f"import torch\n\n{LONG} = 1\ntorch.func.jacfwd(torch.cdist)(torch.zeros(1, 1))\n",
    expected="the program ends normally.",
    actual=f"case.py:3 in <module>\nNotImplementedError: {LONG}",
    output=f"Traceback (most recent call last):\nNotImplementedError: {LONG}",
    failure="NotImplementedError",
    torch="2.13.0",
    python="3.11.7",
    values=("tensor([1.])", "tensor([2.])"),
    rows=(
        NeighbourRow("transforms", "the function as it is, without jacfwd", "passes", "", "import torch\n"),
        NeighbourRow("dtype", "float64", "fails the same", "", "import torch\n"),
        NeighbourRow("dtype", LONG, "fails otherwise", f"RuntimeError: {LONG}", "import torch\n"),
        NeighbourRow("compile", "backend inductor", "not settled", "it did not end", "import torch\n"),
    ),
    not_asked=("compile: backend inductor",),
    nearest="the function as it is",
    diff="--- fails\n+++ passes\n@@ -1 +1 @@\n-torch.func.jacfwd(f)(x)\n+f(x)",
    control="passes when every transform is replaced by the plain function",
    environment="PyTorch version: 2.13.0\nOS: an operating system",
    reduction={"original": "train.py", "tokens-before": 332, "tokens-after": 13, "queries": 580, "seconds": 43.5},
    steps=STEPS,
    origin="https://github.com/pytorch/pytorch/issues/1",
    version="0.1.0",
    confirmed=True,
    masked=("a home folder",),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html(BUG), encoding="utf-8")
    return path


class Opened:
    """A page, with what it said on the console and what it asked for."""

    def __init__(self, browser: Any, file: Path, width: int, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wrong_with_it(browser: Any, file: Path, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with Opened(browser, file, width, scheme) as opened:
        for summary in opened.page.locator("details:not([open]) > summary").all():
            if summary.is_visible():
                summary.click()
        found = Axe().run(opened.page).response["violations"]
        assert [(one["id"], one["impact"], one["nodes"][0]["html"]) for one in found] == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
        assert opened.said == []
        assert [url for url in opened.asked if not url.startswith("data:")] == [file.as_uri()]
        if SHOTS:
            opened.page.screenshot(path=Path(SHOTS) / f"report_{width}_{scheme}.png", full_page=True)


def test_the_slider_shows_one_program_at_a_time(browser: Any, file: Path) -> None:
    with Opened(browser, file, 800) as opened:
        page = opened.page
        shown = page.locator(".step:visible")
        assert shown.count() == 1
        assert page.locator("#which").inner_text().startswith("29 of 29: drop-part-1, 13 tokens, 580 queries")
        page.locator("#at").focus()
        page.keyboard.press("ArrowLeft")
        assert page.locator("#which").inner_text().startswith("28 of 29")
        page.keyboard.press("Home")
        assert page.locator("#which").inner_text().startswith("0 of 29: drop-part-0, 332 tokens")
        assert shown.count() == 1
        page.locator("#on").click()
        assert page.locator("#which").inner_text().startswith("1 of 29")
        assert "value_29 = torch.zeros(29, 1)" in shown.locator(".del").all_inner_texts()[0]
        page.locator("#back").click()
        page.locator("#back").click()
        assert page.locator("#which").inner_text().startswith("0 of 29")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_then_the_button(browser: Any, file: Path, scheme: str) -> None:
    with Opened(browser, file, 800, scheme) as opened:
        page = opened.page
        back = "getComputedStyle(document.body).backgroundColor"
        first, button = page.evaluate(back), page.locator("#theme")
        assert (first == "rgb(255, 255, 255)") == (scheme == "light")
        assert button.get_attribute("aria-pressed") == str(scheme == "dark").lower()
        button.click()
        assert page.evaluate(back) != first
        assert button.get_attribute("aria-pressed") == str(scheme == "light").lower()
        button.click()
        assert page.evaluate(back) == first


@pytest.mark.parametrize("width", [360, 800])
def test_one_curve_is_shown_and_its_axis_can_be_chosen(browser: Any, file: Path, width: int) -> None:
    with Opened(browser, file, width) as opened:
        curve = opened.page.locator(".curve svg:visible")
        assert curve.count() == 1
        assert "over queries" in (curve.get_attribute("aria-label") or "")
        opened.page.get_by_role("button", name="over seconds").click()
        assert curve.count() == 1
        assert "over seconds" in (curve.get_attribute("aria-label") or "")


def test_it_prints_the_last_program_on_white(browser: Any, file: Path) -> None:
    with Opened(browser, file, 800, "dark") as opened:
        opened.page.locator("#at").fill("3")
        opened.page.emulate_media(media="print")
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not opened.page.locator("#theme").is_visible()
        assert opened.page.locator(".step").last.is_visible()
        assert opened.page.locator(".step:visible").count() == 1


def test_without_its_script_all_but_the_slider_is_there(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "bare.html"
    file.write_text(html(replace(BUG, steps=())), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("#program").text_content() == BUG.program
    assert page.get_by_text("What else was run").is_visible()
    context.close()

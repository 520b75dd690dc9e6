"""What is wrong with the command line of explain and report is one clear line, before anything is run."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest
from rich.console import Console

from shrinkrepro.cli.main import main
from shrinkrepro.errors import UsageError
from shrinkrepro.report.bug import Bug
from shrinkrepro.report.clipboard import copy
from shrinkrepro.report.explained import print_explained, scripts
from shrinkrepro.report.issue import github
from shrinkrepro.tasks.explain import ExplainResult, Row
from shrinkrepro.tasks.filing import check_filing, file_issue
from tests.cli.command import Done, says_one_error, shrinkrepro

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fails.py").write_text("raise SystemExit(1)\n")
    (tmp_path / "taken.md").write_text("mine\n")
    (tmp_path / "other.json").write_text("{}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("report nope.py", ("nope.py",)),
        ("report .", ("folder",)),
        ("report fails.py --format pdf", ("pdf", "github")),
        ("report fails.py --environment long", ("long", "short")),
        ("report fails.py -o taken.md", ("taken.md", "--force")),
        ("report fails.py -o fails.py --force", ("the input itself",)),
        ("report fails.py -o nowhere/x.md", ("nowhere", "mkdir")),
        ("report fails.py --compare /no/python", ("/no/python",)),
        ("report fails.py --record nope.json", ("nope.json", "--json")),
        ("report fails.py --record other.json", ("other.json", "--json")),
        ("report fails.py --record taken.md", ("taken.md", "--json")),
        ("report fails.py --python /no/python", ("/no/python",)),
        ("report fails.py --timeout never", ("--timeout", "never")),
        ("report fails.py --gh x/y", ("words by a person", "--words")),
        ("report fails.py --gh x --words hello", ("OWNER/NAME",)),
        ("report fails.py --copy", ("terminal", "-o FILE")),
        ("report fails.py --jobs 0", ("--jobs", "0")),
        ("explain fails.py --jobs 0", ("--jobs", "0")),
        ("explain nope.py", ("nope.py",)),
        ("explain fails.py --write taken.md", ("taken.md is a file",)),
        ("explain fails.py --json nowhere/x.json", ("nowhere",)),
        ("reduce fails.py --report nowhere/x.md", ("--report", "nowhere")),
    ],
)
def test_one_clear_line(
    folder: Path,
    line: str,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    code = main(line.split())
    out, err = capsys.readouterr()
    says_one_error(Done(code, out, err), 2, *words)
    assert (folder / "taken.md").read_text() == "mine\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(folder: Path) -> None:
    (folder / "closed").mkdir(mode=0o500)
    says_one_error(shrinkrepro("report", "fails.py", "-o", "closed/x.md", cwd=folder), 2, "cannot be written")
    says_one_error(shrinkrepro("explain", "fails.py", "--write", "closed/x", cwd=folder), 2, "cannot be made")


def test_gh_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="gh, which is not there"):
        check_filing("pytorch/pytorch", "my words")


BUG = Bug(
    title="a title",
    summary="It raises.",
    kind="exception",
    program="import torch\n",
    expected="nothing.",
    actual="RuntimeError: no",
    output="RuntimeError: no",
    failure="RuntimeError: no",
    torch="2.13.0",
    python="3.11.7",
    words="My own words.",
)


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands in for gh")
def test_gh_gets_the_title_and_the_body_and_its_refusal_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gh = tmp_path / "gh"
    gh.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncat > {tmp_path}/body\necho https://github.com/o/r/1\n')
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    check_filing("o/r", BUG.words)
    assert file_issue(BUG, "o/r") == "https://github.com/o/r/1"
    assert (tmp_path / "asked").read_text() == "issue create --repo o/r --title a title --body-file -\n"
    assert (tmp_path / "body").read_text(encoding="utf-8") == github(BUG)
    gh.write_text("#!/bin/sh\necho 'not logged in' >&2\nexit 4\n")
    with pytest.raises(UsageError, match="not logged in"):
        file_issue(BUG, "o/r")


def test_every_option_of_the_new_commands_has_a_help_and_the_readme_names_the_commands(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    for command in ("explain", "report"):
        done = shrinkrepro(command, "--help", cwd=tmp_path, COLUMNS="200")
        assert done.code == 0
        assert f"shrinkrepro {command}" in text
        known = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", done.out))
        section = text[text.index("### Reporting") : text.index("## How it works")]
        for lines in re.findall(rf"shrinkrepro {command} .*", section):
            assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", lines.partition("#")[0])) <= known


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_clipboard_gets_the_text_or_a_clear_no() -> None:
    terminal = Terminal()
    copy("wörds", terminal)
    assert terminal.getvalue() == "\x1b]52;c;d8O2cmRz\x07"
    with pytest.raises(UsageError, match="terminals take"):
        copy("x" * 65_536, Terminal())
    with pytest.raises(UsageError, match="needs a terminal"):
        copy("x", io.StringIO())


RESULT = ExplainResult(
    name="case",
    source="a\n",
    failure="RuntimeError: no",
    torch="2.13.0",
    python="3.11.7",
    rows=(
        Row("dtype", "float64", "fails the same", "", "b\n"),
        Row("dtype", "complex64", "fails otherwise", "ValueError: " + "x" * 200, "c\n"),
        Row("size", "every size 1 made 2", "passes", "", "d\n"),
    ),
    nearest=Row("size", "every size 1 made 2", "passes", "", "d\n"),
    not_asked=("compile: inductor",),
)


@pytest.mark.parametrize("colour", [True, False])
def test_outcomes_are_told_in_words_with_and_without_colour(colour: bool) -> None:
    out = io.StringIO()
    print_explained(Console(file=out, force_terminal=colour, no_color=not colour, width=200, highlight=False), RESULT)
    text = out.getvalue()
    assert ("\x1b[" in text) == colour
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert "float64              x fails the same\n" in plain
    assert "+ passes" in plain
    assert "not asked, its time was up: compile: inductor" in plain
    assert plain.endswith("--- fails\n+++ passes\n@@ -1 +1 @@\n-a\n+d\n")
    assert max(map(len, plain.splitlines())) < 160


def test_every_neighbour_becomes_a_script_of_its_own() -> None:
    assert scripts(RESULT) == {
        "01_dtype_float64.py": "# dtype: float64: fails the same\nb\n",
        "02_dtype_complex64.py": "# dtype: complex64: fails otherwise\nc\n",
        "03_size_every_size_1_made_2.py": "# size: every size 1 made 2: passes\nd\n",
    }

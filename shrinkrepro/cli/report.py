"""``shrinkrepro report``: a failing program to a bug report, on the screen, in a file, or where the user sends it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shrinkrepro.cli import options
from shrinkrepro.cli.add import Origin
from shrinkrepro.cli.console import lines
from shrinkrepro.cli.explain import Jobs, Program

if TYPE_CHECKING:
    from shrinkrepro.report.bug import Bug

_SUFFIXES = {".html": "html", ".htm": "html", ".json": "json"}


def form_of(file: Path | None) -> str:
    """The format that the name of a file asks for."""
    return _SUFFIXES.get(file.suffix.lower(), "github") if file is not None else "github"


def report(
    program: Program,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="F", help="github, markdown, json or html.  [default: by the name of FILE, else github]"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", metavar="FILE", help="Write it to FILE.  [default: stdout]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a FILE that exists.")] = False,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Its title.  [default: made from facts]")] = "",
    words: Annotated[
        str, typer.Option("--words", metavar="TEXT", help="Your own words, in the place that is marked for them.")
    ] = "",
    origin: Origin = "",
    compare: Annotated[
        list[str] | None,
        typer.Option("--compare", metavar="PATH", help="Run it with this interpreter's torch too; repeatable."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="What reduce --json wrote: its steps are shown (html)."),
    ] = None,
    environment: Annotated[
        str, typer.Option("--environment", metavar="full|short", help="How much of torch's collect_env.")
    ] = "full",
    explain: Annotated[bool, typer.Option("--explain/--no-explain", help="Run the neighbours of the program.")] = True,
    no_mask: Annotated[
        bool, typer.Option("--no-mask", help="Leave home folders, names, tokens and e-mail addresses as they are.")
    ] = False,
    copy: Annotated[bool, typer.Option("--copy", help="Put it into the terminal's clipboard.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open a new issue that is filled in, in a browser.")] = False,
    gh: Annotated[
        str, typer.Option("--gh", metavar="OWNER/NAME", help="File it in this repository with gh; needs --words.")
    ] = "",
    python: options.Python = None,
    timeout: options.Timeout = None,
    preload: options.Preload = None,
    jobs: Jobs = None,
    quiet: options.QuietFlag = False,
) -> int:
    """Write the bug report of a case or a reduced program: what fails, what was expected, what else was tried.

    The program in it is run once more as it stands there. Nothing is sent anywhere without --open or --gh.
    """
    from shrinkrepro.report.clipboard import check_terminal
    from shrinkrepro.report.files import claim_output, write_whole
    from shrinkrepro.tasks.filing import check_filing, file_issue
    from shrinkrepro.tasks.inputs import parse_duration
    from shrinkrepro.tasks.report import ReportRequest
    from shrinkrepro.tasks.report import report as make

    if out is not None:
        claim_output(out, force=force, never=program)
    if copy:
        check_terminal(sys.stderr)
    if gh:
        check_filing(gh, words)
    request = ReportRequest(
        path=program,
        python=python,
        timeout=parse_duration(timeout, "--timeout") if timeout is not None else None,
        preload=preload,
        jobs=jobs,
        title=title,
        origin=origin,
        words=words,
        compare=tuple(compare or ()),
        environment=environment,
        neighbours=explain,
        mask=not no_mask,
        record=record,
    )
    with lines(quiet) as progress:
        bug, text = make(request, form or form_of(out), progress)
    if out is not None:
        write_whole(out, text)
    elif not (copy or open_ or gh):
        typer.echo(text, nl=False)
    if copy:
        _copy(bug)
    if open_:
        _open(bug)
    if gh:
        typer.echo(file_issue(bug, gh))
    return 0


def _copy(bug: Bug) -> None:
    from shrinkrepro.report.clipboard import copy
    from shrinkrepro.report.issue import github

    copy(github(bug), sys.stderr)


def _open(bug: Bug) -> None:
    """Print the address of the new issue, and open it where there is a browser."""
    import webbrowser

    from shrinkrepro.report.issue import new_issue_address

    address = new_issue_address(bug)
    typer.echo(address)
    webbrowser.open(address)

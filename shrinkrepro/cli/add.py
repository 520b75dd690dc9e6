"""``shrinkrepro add``: a program that fails becomes a case."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shrinkrepro.cli import options
from shrinkrepro.cli.console import lines

Title = Annotated[str, typer.Option("--title", metavar="TEXT", help="What it is about, in a line.")]
Origin = Annotated[str, typer.Option("--origin", metavar="URL", help="Where it comes from: an issue, or a note.")]


def add(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A program in one file that fails.", show_default=False)],
    title: Title = "",
    origin: Origin = "",
    force: Annotated[bool, typer.Option("--force", help="Write the table of a case anew.")] = False,
    python: options.Python = None,
    match: options.Match = "signature",
    timeout: options.Timeout = None,
    preload: options.Preload = None,
    quiet: options.QuietFlag = False,
) -> int:
    """Make a case of a program that fails: write what its failure is into a block at its top."""
    from shrinkrepro.report.files import write_whole
    from shrinkrepro.tasks.add import AddRequest, add
    from shrinkrepro.tasks.inputs import parse_duration

    request = AddRequest(
        file=file,
        title=title,
        origin=origin,
        force=force,
        python=python,
        timeout=parse_duration(timeout, "--timeout") if timeout is not None else None,
        match=match,
        preload=preload,
    )
    with lines(quiet) as progress:
        added = add(request, progress)
    write_whole(file, added.text)
    if not quiet:
        typer.echo(f"{file}: {added.case.failure}")
    return 0

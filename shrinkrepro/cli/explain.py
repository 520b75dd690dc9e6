"""``shrinkrepro explain``: a failing program to its neighbourhood."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shrinkrepro.cli import options
from shrinkrepro.cli.console import console, lines

Program = Annotated[
    Path, typer.Argument(metavar="CASE", help="A case, or a reduced program in one file.", show_default=False)
]
Jobs = Annotated[int | None, typer.Option("--jobs", metavar="N", help="Neighbours that run at a time.  [default: 1]")]


def explain(
    program: Program,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="DIR", help="Write each neighbour as a script into this folder.")
    ] = None,
    python: options.Python = None,
    timeout: options.Timeout = None,
    preload: options.Preload = None,
    jobs: Jobs = None,
    json: options.Json = None,
    quiet: options.QuietFlag = False,
    no_color: options.NoColor = False,
) -> int:
    """Run what stands around a failing program: other transforms, operators, dtypes, sizes, devices, compilers.

    Says of each neighbour whether it passes, fails the same or fails otherwise, and shows the nearest one that passes.
    """
    from shrinkrepro.report.explained import print_explained, scripts
    from shrinkrepro.report.files import as_json, claim_folder, claim_output, write_whole
    from shrinkrepro.tasks.explain import explain
    from shrinkrepro.tasks.inputs import parse_duration

    if json is not None:
        claim_output(json, force=True, never=program, option="--json")
    if write is not None:
        claim_folder(write, option="--write")
    seconds = parse_duration(timeout, "--timeout") if timeout is not None else None
    with lines(quiet) as progress:
        result = explain(program, progress, python=python, timeout=seconds, preload=preload, jobs=jobs)
    if not quiet:
        print_explained(console(no_color), result)
    if json is not None:
        write_whole(json, as_json(result))
    if write is not None:
        for name, text in scripts(result).items():
            write_whole(write / name, text)
    return 0

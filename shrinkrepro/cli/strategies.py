"""``shrinkrepro strategies``: what is installed, one line each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def strategies(
    markdown: Annotated[bool, typer.Option("--markdown", help="The catalogue, with the whole of each text.")] = False,
    earned: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Counts of a benchmark, for the catalogue to show.")
    ] = None,
) -> int:
    """List the installed strategies, in the order in which they are tried."""
    from shrinkrepro.core.registry import load_strategies
    from shrinkrepro.errors import UsageError
    from shrinkrepro.report.catalogue import Earned, as_lines, as_markdown

    if earned is not None and not markdown:
        raise UsageError(f"--earned {earned} is for the catalogue only", "add --markdown")
    installed = load_strategies()
    counts = Earned.read(earned) if earned is not None else None
    typer.echo(as_markdown(installed, counts) if markdown else as_lines(installed))
    return 0

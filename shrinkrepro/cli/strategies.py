"""``shrinkrepro strategies``: what is installed, one line each."""

from __future__ import annotations

from typing import Annotated

import typer


def strategies(
    markdown: Annotated[bool, typer.Option("--markdown", help="The catalogue, with the whole of each text.")] = False,
) -> int:
    """List the installed strategies, in the order in which they are tried."""
    from shrinkrepro.core.registry import load_strategies
    from shrinkrepro.report.catalogue import as_lines, as_markdown

    installed = load_strategies()
    typer.echo(as_markdown(installed) if markdown else as_lines(installed))
    return 0

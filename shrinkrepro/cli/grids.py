"""``shrinkrepro matrix`` and ``shrinkrepro bisect``: the statuses of cases over several torches and devices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shrinkrepro.cli import options
from shrinkrepro.cli.console import lines
from shrinkrepro.cli.replay import CaseTimeout, Devices, Jobs, Keyword, Paths, Pythons


def matrix(
    paths: Paths,
    python: Pythons = None,
    device: Devices = None,
    keyword: Keyword = "",
    jobs: Jobs = None,
    timeout: CaseTimeout = None,
    isolation: options.Isolation = None,
    preload: options.Preload = None,
    json: options.Json = None,
    quiet: options.QuietFlag = False,
) -> int:
    """Show the status of cases on every interpreter and device given; ends with 0 whatever they are."""
    from shrinkrepro.report.files import claim_output, write_whole
    from shrinkrepro.report.grid import grid
    from shrinkrepro.report.replayed import replay_json
    from shrinkrepro.tasks.inputs import parse_duration
    from shrinkrepro.tasks.replay import ReplayRequest, replay

    if json is not None:
        claim_output(json, force=True, option="--json")
    request = ReplayRequest(
        paths=tuple(paths),
        keyword=keyword,
        pythons=tuple(python or ()),
        devices=tuple(device or ()),
        jobs=jobs,
        timeout=parse_duration(timeout, "--timeout") if timeout is not None else None,
        preload=preload,
        isolation=isolation,
    )
    with lines(quiet) as progress:
        result = replay(request, progress)
    if not quiet:
        typer.echo("\n".join(grid(result)))
    if json is not None:
        write_whole(json, replay_json(result))
    return 0


def bisect(
    case: Annotated[Path, typer.Argument(metavar="CASE", help="The case.", show_default=False)],
    python: Pythons = None,
    jobs: Jobs = None,
    timeout: CaseTimeout = None,
    preload: options.Preload = None,
    json: options.Json = None,
    quiet: options.QuietFlag = False,
) -> int:
    """Find between which two of several torches the status of a case turned: --python A --python B ...

    Ends with 0 when it turned, 1 when it is the same on the oldest and the newest.
    """
    from shrinkrepro.report.files import as_json, claim_output, write_whole
    from shrinkrepro.report.grid import turn
    from shrinkrepro.tasks.bisect import bisect
    from shrinkrepro.tasks.inputs import parse_duration
    from shrinkrepro.tasks.replay import ReplayRequest

    if json is not None:
        claim_output(json, force=True, option="--json")
    request = ReplayRequest(
        paths=(case,),
        pythons=tuple(python or ()),
        jobs=jobs,
        timeout=parse_duration(timeout, "--timeout") if timeout is not None else None,
        preload=preload,
    )
    with lines(quiet) as progress:
        result = bisect(request, progress)
    if not quiet:
        typer.echo("\n".join(turn(result)))
    if json is not None:
        write_whole(json, as_json(result))
    return 0 if result.turn is not None else 1

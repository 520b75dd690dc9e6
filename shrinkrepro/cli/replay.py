"""``shrinkrepro replay``: options to a replay, its result to text, files and an exit code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shrinkrepro.cli import options
from shrinkrepro.cli.console import console, lines

if TYPE_CHECKING:
    from shrinkrepro.tasks.replay import ReplayResult

SAMPLE = 3  # cases that --json also runs with plain python, for the cost

Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Cases, or folders of cases.", show_default=False)]
Pythons = Annotated[
    list[str] | None,
    typer.Option("--python", metavar="PATH", help="An interpreter that has a torch; may be given several times."),
]
Devices = Annotated[
    list[str] | None,
    typer.Option("--device", metavar="D", help="Run on this device in the place of a case's own; repeatable."),
]
Keyword = Annotated[
    str, typer.Option("-k", metavar="EXPR", help="Only cases whose name or title holds this: 'vmap and not jvp'.")
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", help="Runs at a time.  [default: the number of cores]")
]
CaseTimeout = Annotated[
    str | None, typer.Option("--timeout", metavar="S", help="Seconds after which a run counts as hung.  [default: 60]")
]


def replay(
    paths: Paths,
    keyword: Keyword = "",
    shard: Annotated[str, typer.Option("--shard", metavar="I/N", help="Only the Ith of N shares.")] = "",
    python: Pythons = None,
    device: Devices = None,
    jobs: Jobs = None,
    timeout: CaseTimeout = None,
    isolation: options.Isolation = None,
    preload: options.Preload = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write what was found into the cases as what is expected.")
    ] = False,
    json: options.Json = None,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML to FILE.")] = None,
    md: Annotated[Path | None, typer.Option("--md", metavar="FILE", help="Write a Markdown summary to FILE.")] = None,
    measure: Annotated[
        int | None,
        typer.Option(
            "--measure", metavar="N", help="Run N cases with plain python too, for the cost.  [default: 3 with --json]"
        ),
    ] = None,
    executor: options.Executor = "local",
    address: options.Address = None,
    cpus: options.WorkerCpus = 1.0,
    gpus: options.WorkerGpus = 0.0,
    worker_memory: options.WorkerMemory = None,
    quiet: options.QuietFlag = False,
    no_color: options.NoColor = False,
) -> int:
    """Run cases again and say which still fail, which are fixed, and which fail for another reason now.

    Ends with 0 when all are as expected, 1 when not. In GitHub Actions it also prints annotations.
    """
    from shrinkrepro.report.files import claim_output, write_whole
    from shrinkrepro.tasks.expectations import updated
    from shrinkrepro.tasks.inputs import parse_duration
    from shrinkrepro.tasks.placement import RAY
    from shrinkrepro.tasks.replay import ReplayRequest, chosen, replay_found

    placement = options.placement(executor, jobs, address, cpus, gpus, worker_memory)
    placement.check()
    for option, path in (("--json", json), ("--junit", junit), ("--md", md)):
        if path is not None:
            claim_output(path, force=True, option=option)
    request = ReplayRequest(
        paths=tuple(paths),
        keyword=keyword,
        shard=shard,
        pythons=tuple(python or ()),
        devices=tuple(device or ()),
        jobs=jobs,
        timeout=parse_duration(timeout, "--timeout") if timeout is not None else None,
        preload=preload,
        isolation=isolation,
        measure=measure if measure is not None else SAMPLE if json is not None else 0,
    )
    found = chosen(request)
    with lines(quiet) as progress:
        if placement.executor == RAY:
            from shrinkrepro.tasks.replay_apart import replay_apart

            result = replay_apart(request, found, placement, progress)
        else:
            result = replay_found(request, found, progress)
    _report(result, json, junit, md, quiet, no_color)
    if update:
        texts = updated(found, result.rows)
        for path_text, text in texts.items():
            write_whole(Path(path_text), text)
        if not quiet:
            typer.echo(f"updated: {', '.join(texts) or 'nothing'}")
    return 0 if result.ok else 1


def _report(
    result: ReplayResult, json: Path | None, junit: Path | None, md: Path | None, quiet: bool, no_color: bool
) -> None:
    from shrinkrepro.report.files import write_whole
    from shrinkrepro.report.github import workflow_commands
    from shrinkrepro.report.junit import junit as as_junit
    from shrinkrepro.report.replay_markdown import replay_markdown
    from shrinkrepro.report.replayed import print_replay, replay_json

    if not quiet:
        print_replay(console(no_color), result)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in workflow_commands(result):
            typer.echo(line)
    for path, text in ((json, replay_json), (junit, as_junit), (md, replay_markdown)):
        if path is not None:
            write_whole(path, text(result))

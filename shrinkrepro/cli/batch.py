"""``shrinkrepro batch``: many failing scripts to a folder of the bugs behind them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shrinkrepro.cli import options
from shrinkrepro.cli.console import console
from shrinkrepro.errors import INTERRUPTED

if TYPE_CHECKING:
    from shrinkrepro.report.batch_live import BatchLines, BatchTable
    from shrinkrepro.tasks.batch_request import BatchResult

UNDONE = 1  # exit code: some failing script has no confirmed reduction


def batch(
    out: Annotated[
        Path,
        typer.Option("-o", metavar="OUTDIR", help="A new folder, or that of an earlier run, which then goes on."),
    ],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="Scripts, and folders of scripts.", show_default=False),
    ] = None,
    lists: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", metavar="LIST.jsonl", help='A list: {"path": FILE} or {"name": NAME, "source": TEXT} a line.'
        ),
    ] = None,
    per_signature: Annotated[
        int, typer.Option("--per-signature", metavar="K", help="Scripts of each group to reduce, the smallest first.")
    ] = 1,
    every: Annotated[bool, typer.Option("--all", help="Reduce every script.")] = False,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="Of each reduction: 90s, 10m, 1h.  [default: 10m]")
    ] = None,
    total_budget: Annotated[
        str | None, typer.Option("--total-budget", metavar="TIME", help="Of the whole run; the same command goes on.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", help="Scripts at a time.  [default: the number of cores]")
    ] = None,
    executor: options.Executor = "local",
    address: options.Address = None,
    cpus: options.WorkerCpus = 1.0,
    gpus: options.WorkerGpus = 0.0,
    worker_memory: options.WorkerMemory = None,
    python: options.Python = None,
    device: options.Device = None,
    timeout: options.Timeout = None,
    match: options.Match = "signature",
    control: options.Control = None,
    seed: options.Seed = 0,
    isolation: options.Isolation = None,
    preload: options.Preload = None,
    allow_network: options.AllowNetwork = False,
    no_sandbox: options.NoSandbox = False,
    memory: options.Memory = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew, whatever an earlier run has left in OUTDIR.")
    ] = False,
    quiet: options.QuietFlag = False,
    no_color: options.NoColor = False,
) -> int:
    """Check many scripts, group them by bug, and reduce one of each group.

    OUTDIR gets a case for each bug, and index.md, index.html and index.json. Scripts run in their own folders. After
    Ctrl-C or a kill the same command goes on; what is done is not done again.
    """
    from importlib.metadata import version

    from shrinkrepro.report import batch_index
    from shrinkrepro.report.files import write_whole
    from shrinkrepro.tasks.batch import batch
    from shrinkrepro.tasks.batch_request import BatchRequest
    from shrinkrepro.tasks.inputs import parse_duration

    request = BatchRequest(
        out=out,
        paths=tuple(paths or ()),
        lists=tuple(lists or ()),
        per_signature=per_signature,
        every=every,
        budget=parse_duration(budget, "--budget") if budget is not None else None,
        total_budget=parse_duration(total_budget, "--total-budget") if total_budget is not None else None,
        fresh=fresh,
        placement=options.placement(executor, jobs, address, cpus, gpus, worker_memory),
        python=python,
        device=device,
        timeout=parse_duration(timeout, "--timeout") if timeout is not None else None,
        match=match,
        controls=tuple(control or ()),
        seed=seed,
        isolation=isolation,
        preload=preload,
        confinement=options.confinement(None, allow_network, no_sandbox, memory),
    )
    with _progress(quiet, no_color) as progress:
        result = batch(request, progress)
        number = version("shrinkrepro")
        write_whole(out / "index.json", batch_index.index_json(result, number))
        write_whole(out / "index.md", batch_index.index_markdown(result))
        page = batch_index.index_html(result, number)
        if page:
            write_whole(out / "index.html", page)
        else:
            progress.note('no index.html without jinja2: pip install "shrinkrepro[report]"')
    if not quiet:
        _tell(result, out)
    if result.ended == "interrupted":
        return INTERRUPTED
    return 0 if result.ok else UNDONE


def _tell(result: BatchResult, out: Path) -> None:
    from shrinkrepro.report.batch_index import headline, summary

    typer.echo(headline(result))
    typer.echo(summary(result))
    for group in result.groups:
        where = f"{group.tokens} tokens, {group.file}" if group.file else group.why or "not reduced"
        typer.echo(f"{len(group.scripts):5}  {group.title}  ({where})")
    typer.echo(f"written    {out / 'index.md'}")


def _progress(quiet: bool, no_color: bool) -> BatchLines | BatchTable:
    from shrinkrepro.report.batch_live import BatchLines, BatchQuiet, BatchTable

    if quiet:
        return BatchQuiet(sys.stderr)
    terminal = console(no_color, stderr=True)
    if not terminal.is_terminal or terminal.is_dumb_terminal or os.environ.get("CI"):
        return BatchLines(sys.stderr)
    return BatchTable(terminal)

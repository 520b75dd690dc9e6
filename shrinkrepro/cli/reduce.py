"""``shrinkrepro reduce``: options to a reduction, a reduction to text and an exit code."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shrinkrepro.cli import function_options, options
from shrinkrepro.cli.add import Origin, Title
from shrinkrepro.cli.console import console
from shrinkrepro.cli.report import form_of
from shrinkrepro.errors import INTERRUPTED, OUR_FAULT, UNCONFIRMED, UsageError

if TYPE_CHECKING:
    from shrinkrepro.report.live import Display
    from shrinkrepro.report.progress import Lines, Quiet
    from shrinkrepro.session import Reduction


def reduce(
    script: options.Script = None,
    args: options.Args = None,
    module: options.Module = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", metavar="OUT", help="The result.  [default: SCRIPT_reduced.py beside SCRIPT]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over an OUT that exists.")] = False,
    case: Annotated[
        Path | None,
        typer.Option("--case", metavar="DIR", help="Write the result as a case into this folder, or as this file."),
    ] = None,
    title: Title = "",
    origin: Origin = "",
    python: options.Python = None,
    device: options.Device = None,
    cwd: options.Cwd = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", metavar="TIME", help="End after 90, 90s, 10m or 1h with the best so far.  [default: 10m]"
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", help="Runs at a time.  [default: the number of cores]")
    ] = None,
    timeout: options.Timeout = None,
    match: options.Match = "signature",
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="REGEX", help="The source must go on matching this.")
    ] = None,
    exclude: Annotated[
        str | None, typer.Option("--exclude", metavar="REGEX", help="A known other failure, by its output.")
    ] = None,
    differs: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--differs",
            metavar="GOT WANT",
            help="Of a script that only prints: two expressions in its own names, which should be close.",
        ),
    ] = None,
    function: function_options.Function = None,
    transform: function_options.Transform = None,
    inputs: function_options.Inputs = None,
    in_dims: function_options.InDims = None,
    argnums: function_options.Argnums = None,
    tangents: function_options.Tangents = None,
    control: options.Control = None,
    seed: options.Seed = 0,
    isolation: options.Isolation = None,
    preload: options.Preload = None,
    allow_write: options.AllowWrite = None,
    allow_network: options.AllowNetwork = False,
    no_sandbox: options.NoSandbox = False,
    memory: options.Memory = None,
    json: options.Json = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write a bug report too: FILE.md, FILE.html or FILE.json."),
    ] = None,
    quiet: options.QuietFlag = False,
    no_color: options.NoColor = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew, whatever a run of this command that was killed has left.")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Reduce even a failure that comes before anything of torch's.")
    ] = False,
) -> int:
    """Reduce a failing script to the smallest program that still fails the same way.

    The script is never written to. Ctrl-C ends the run with the best program so far. A run that was killed is taken up
    again by the same command; its best program so far is in OUT's place with .partial in the name.
    """
    from shrinkrepro import api
    from shrinkrepro.report.files import as_json, claim_output, default_output, write_whole
    from shrinkrepro.report.summary import print_summary
    from shrinkrepro.session.run import DEFAULT_BUDGET
    from shrinkrepro.tasks.add import AddRequest, case_file, of_reduction
    from shrinkrepro.tasks.inputs import parse_duration
    from shrinkrepro.tasks.pytest_id import is_test_id, script_of_id
    from shrinkrepro.tasks.report import check_form

    path, arguments = options.program_arguments(script, module, args)
    confinement = options.confinement(allow_write, allow_network, no_sandbox, memory)
    under = function_options.under(function, transform, inputs, in_dims, argnums, tangents)
    if under is not None and differs is not None:
        raise UsageError("--differs has no place beside --function", "a function is compared with its reference")
    if under is not None and under.transform == "all":
        with _progress(None, 0.0, quiet, no_color) as progress:
            tried = api.try_transforms(
                path,
                under,
                module=module,
                args=arguments,
                python=python,
                device=device,
                cwd=cwd,
                jobs=jobs,
                timeout=timeout,
                seed=seed,
                isolation=isolation,
                preload=preload,
                confinement=confinement,
                progress=progress,
            )
        if json is not None:
            write_whole(claim_output(json, force=True, never=path, option="--json"), as_json(tried))
        return function_options.told(console(no_color), tried, quiet)
    program: Path | str | None = path
    name = path.name if path is not None else module or ""
    output = out or default_output(path, module)
    if script is not None and is_test_id(script):
        test = script_of_id(script, python, cwd)
        program, path, cwd, name = test.source, None, test.folder, script
        output = out or Path(f"{test.name}_reduced.py")
    if case is not None and out is None:
        output = case_file(case, output.stem.removesuffix("_reduced"))
    if (
        program is not path or path is None or path.is_file()
    ):  # else the bad SCRIPT is what has to be told, and the task does that
        claim_output(output, force=force, never=path)
        if json is not None:
            claim_output(json, force=True, never=path, option="--json")
        if report is not None:
            claim_output(report, force=True, never=path, option="--report")
            check_form(form_of(report))
    seconds = parse_duration(budget, "--budget") if budget is not None else DEFAULT_BUDGET

    with _progress(path, seconds, quiet, no_color) as progress:
        reduction = api.reduce(
            program,
            module=module,
            args=arguments,
            python=python,
            device=device,
            cwd=cwd,
            budget=seconds,
            jobs=jobs,
            timeout=timeout,
            match=match,
            keep=keep,
            exclude=exclude,
            differs=differs,
            under=under,
            control=control or (),
            seed=seed,
            isolation=isolation,
            preload=preload,
            confinement=confinement,
            anyway=anyway,
            out=output,
            fresh=fresh,
            progress=progress,
        )
    if not quiet or reduction.unwritten:
        print_summary(console(no_color), reduction, None if reduction.unwritten else output)
    if reduction.unwritten:
        raise UsageError(reduction.unwritten, "the result is printed above; or name another file with -o")
    file = output
    if case is not None:
        file = case_file(case, output.stem) if out is not None else output
        if file != output:
            write_whole(file, reduction.source)  # whatever comes of the table, the result is there
        asked = AddRequest(file, title, origin, python=python, match=match, preload=preload, jobs=jobs)
        with _progress(None, seconds, True, no_color) as silent:
            write_whole(file, of_reduction(asked, reduction, name, silent).text)
    if json is not None:
        write_whole(json, as_json(reduction))
    if report is not None:
        with _progress(None, seconds, True, no_color) as silent:
            write_whole(report, _report(file, report, reduction, title, origin, python, preload, silent))
    return exit_code(reduction)


def _report(
    program: Path,
    file: Path,
    reduction: Reduction,
    title: str,
    origin: str,
    python: str | None,
    preload: Path | None,
    progress: Display | Lines | Quiet,
) -> str:
    """The text of the report of what was written to ``program``, in the format that the name of ``file`` asks for."""
    import dataclasses

    from shrinkrepro.tasks.report import ReportRequest, of_record, report

    steps, sizes = of_record(dataclasses.asdict(reduction))
    asked = ReportRequest(
        path=program, python=python, preload=preload, title=title, origin=origin, steps=steps, reduction=sizes
    )
    return report(asked, form_of(file), progress)[1]


def exit_code(reduction: Reduction) -> int:
    """What the command ends with: the gravest thing that has to be said of the run."""
    if reduction.ended == "interrupted":
        return INTERRUPTED
    if reduction.faults:
        return OUR_FAULT
    enough = 1 if reduction.rate is not None else reduction.confirmations
    return 0 if reduction.confirmed >= enough else UNCONFIRMED


def _progress(script: Path | None, budget: float, quiet: bool, no_color: bool) -> Display | Lines | Quiet:
    from shrinkrepro.report.progress import Lines, Quiet

    if quiet:
        return Quiet()
    terminal = console(no_color, stderr=True)
    if not terminal.is_terminal or terminal.is_dumb_terminal or os.environ.get("CI"):
        return Lines(sys.stderr)
    from shrinkrepro.report.live import Display

    source = script.read_text(encoding="utf-8", errors="replace") if script is not None and script.is_file() else ""
    return Display(terminal, source, budget)

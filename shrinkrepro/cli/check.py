"""``shrinkrepro check``: options to a check, its result to text and an exit code."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from shrinkrepro.cli import function_options, options
from shrinkrepro.errors import NotFailingError, ShrinkReproError, TooFlakyError, UsageError


def check(
    script: options.Script = None,
    args: options.Args = None,
    module: options.Module = None,
    python: options.Python = None,
    device: options.Device = None,
    cwd: options.Cwd = None,
    timeout: options.Timeout = None,
    match: options.Match = "signature",
    function: function_options.Function = None,
    transform: function_options.Transform = None,
    inputs: function_options.Inputs = None,
    in_dims: function_options.InDims = None,
    argnums: function_options.Argnums = None,
    tangents: function_options.Tangents = None,
    sanitize: Annotated[
        bool,
        typer.Option("--sanitize", help="Run it once with a reference beside each transform, and say what differs."),
    ] = False,
    seed: options.Seed = 0,
    isolation: options.Isolation = None,
    preload: options.Preload = None,
    allow_write: options.AllowWrite = None,
    allow_network: options.AllowNetwork = False,
    no_sandbox: options.NoSandbox = False,
    memory: options.Memory = None,
    json: options.Json = None,
    quiet: options.QuietFlag = False,
    no_color: options.NoColor = False,
) -> int:
    """Run a script a few times and say what fails, where, how reliably, and what reduce would do.

    Ends with 0 when there is a failure to reduce. A script that does not fail is searched for values that differ.
    With --sanitize, ends with 1 when a transform differs from its reference, and with 0 when none does.
    """
    from shrinkrepro import api
    from shrinkrepro.cli.console import console, lines
    from shrinkrepro.report.checked import print_check
    from shrinkrepro.report.files import as_json, claim_output, write_whole
    from shrinkrepro.report.sanitized import print_sanitized

    path, arguments = options.program_arguments(script, module, args)
    confinement = options.confinement(allow_write, allow_network, no_sandbox, memory)
    under = function_options.under(function, transform, inputs, in_dims, argnums, tangents)
    if json is not None:
        claim_output(json, force=True, never=path, option="--json")
    if under is not None and under.transform == "all":
        with lines(quiet) as progress:
            tried = api.try_transforms(
                path,
                under,
                module=module,
                args=arguments,
                python=python,
                device=device,
                cwd=cwd,
                timeout=timeout,
                seed=seed,
                isolation=isolation,
                preload=preload,
                confinement=confinement,
                progress=progress,
            )
        if json is not None:
            write_whole(json, as_json(tried))
        return function_options.told(console(no_color), tried, quiet)

    def sanitized() -> int:
        with lines(quiet) as progress:
            found = api.sanitize(
                path,
                module=module,
                args=arguments,
                python=python,
                cwd=cwd,
                timeout=timeout,
                seed=seed,
                isolation=isolation,
                preload=preload,
                confinement=confinement,
                progress=progress,
            )
        if not quiet:
            print_sanitized(console(no_color), found)
        if json is not None:
            write_whole(json, as_json(found))
        return 1 if found.findings else 0

    if sanitize:
        for option, given in (("--device", device), ("--function", function)):
            if given is not None:
                raise UsageError(f"{option} has no place beside --sanitize", "the script is run as it is")
        return sanitized()
    try:
        with lines(quiet) as progress:
            result = api.check(
                path,
                module=module,
                args=arguments,
                python=python,
                device=device,
                cwd=cwd,
                timeout=timeout,
                match=match,
                under=under,
                seed=seed,
                isolation=isolation,
                preload=preload,
                confinement=confinement,
                progress=progress,
            )
    except NotFailingError:
        if under is None and device is None:
            with contextlib.suppress(ShrinkReproError):  # that it does not fail is what has to be told
                sanitized()
        raise
    if not quiet:
        print_check(console(no_color), result)
    if json is not None:
        write_whole(json, as_json(result))
    return 0 if result.reducible else TooFlakyError.exit_code

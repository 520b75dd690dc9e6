"""The arguments and options that several commands share, each declared once.

Decision: times, patterns and paths come in as plain text and are looked at by the task, so that the
command line and the library answer a bad one with the same words.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shrinkrepro.session.request import Confinement
    from shrinkrepro.tasks.placement import Placement

Script = Annotated[
    str | None, typer.Argument(metavar="SCRIPT", help="The script that fails, or a pytest id.", show_default=False)
]
Args = Annotated[
    list[str] | None,
    typer.Argument(metavar="ARGS", help="The script's own arguments: -- ARGS...", show_default=False),
]
Module = Annotated[
    str | None,
    typer.Option("-m", metavar="PKG.MOD", help="In the place of SCRIPT: a module, run as python -m does."),
]
Python = Annotated[
    str | None,
    typer.Option(
        "--python", metavar="PATH", help="The interpreter that has the torch under test.  [default: this one]"
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="D",
        help="The default device, also in the place of those the script names (cuda:0, cpu, ...).",
    ),
]
Cwd = Annotated[
    Path | None, typer.Option("--cwd", metavar="DIR", help="The folder to run in.  [default: the current one]")
]
Timeout = Annotated[
    str | None,
    typer.Option("--timeout", metavar="S", help="Seconds that one run may take.  [default: measured on the script]"),
]
Match = Annotated[
    str,
    typer.Option(
        "--match",
        metavar="HOW",
        help="What makes two failures the same: signature, message, type, or /regex/ on the output.",
    ),
]
Control = Annotated[
    list[str] | None,
    typer.Option(
        "--control",
        metavar="NAME",
        help="What the script must pass: primal, reference, vmap, forward, eager, finite-difference, float64, cpu, "
        "python=PATH, or none; may be repeated.  [default: the strictest that it passes]",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the target's random numbers.")]
Isolation = Annotated[
    str | None,
    typer.Option(
        "--isolation",
        metavar="fork|spawn",
        help="Fork from a warm server, or start each run anew.  [default: fork where it serves]",
    ),
]
Preload = Annotated[
    Path | None, typer.Option("--preload", metavar="FILE", help="Python code to run before the script in every run.")
]
AllowWrite = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-write", metavar="PATH", help="Let runs really write to this file or folder; may be repeated."
    ),
]
AllowNetwork = Annotated[bool, typer.Option("--allow-network", help="Let runs reach the network.")]
NoSandbox = Annotated[
    bool, typer.Option("--no-sandbox", help="Run everything as you would, with your files, network and environment.")
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory that one run may take: 4G, 500M.  [default: a share of half of what is free]",
    ),
]
Executor = Annotated[str, typer.Option("--executor", metavar="local|ray", help="Where scripts are worked on.")]
Address = Annotated[
    str | None, typer.Option("--address", metavar="A", help="Ray: a running cluster.  [default: one started here]")
]
WorkerCpus = Annotated[float, typer.Option("--cpus-per-worker", metavar="N", help="Ray: cores that a worker takes.")]
WorkerGpus = Annotated[
    float, typer.Option("--gpus-per-worker", metavar="N", help="Ray: GPUs that a worker takes; 0.5 shares one.")
]
WorkerMemory = Annotated[
    str | None, typer.Option("--memory-per-worker", metavar="SIZE", help="Ray: memory that a worker takes.")
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the whole result to FILE as JSON.")]
QuietFlag = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours (NO_COLOR=1 does the same).")]


def confinement(
    allow_write: list[Path] | None, allow_network: bool, no_sandbox: bool, memory: str | None
) -> Confinement:
    """What the options for it say."""
    from shrinkrepro.session.request import Confinement
    from shrinkrepro.tasks.inputs import parse_size

    size = parse_size(memory, "--memory") if memory is not None else None
    return Confinement(not no_sandbox, allow_network, tuple(allow_write or ()), size)


def placement(
    executor: str, jobs: int | None, address: str | None, cpus: float, gpus: float, memory: str | None
) -> Placement:
    """What the options for it say."""
    from shrinkrepro.tasks.inputs import parse_size
    from shrinkrepro.tasks.placement import Placement

    size = parse_size(memory, "--memory-per-worker") if memory is not None else None
    return Placement(executor, jobs, address, cpus, gpus, size)


def program_arguments(
    script: str | None, module: str | None, args: list[str] | None
) -> tuple[Path | None, tuple[str, ...]]:
    """The script and its arguments; after ``-m`` the first positional is an argument already."""
    rest = tuple(args or ())
    if module is not None:
        return None, (script, *rest) if script is not None else rest
    return (Path(script) if script is not None else None), rest

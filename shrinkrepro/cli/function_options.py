"""The options that name a function and the transform to put it under, for ``reduce`` and ``check`` alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shrinkrepro.errors import NotFailingError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from shrinkrepro.tasks.function import TransformsResult, Under

Function = Annotated[
    str | None,
    typer.Option("--function", metavar="F", help="A function of the script, to be compared with its reference."),
]
Transform = Annotated[
    str | None,
    typer.Option(
        "--transform",
        metavar="T",
        help="What to put F under: vmap, grad, vjp, jvp, jacrev, jacfwd, hessian, a nesting: vmap(grad), or all.",
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option("--inputs", metavar="EXPRS", help="What to call it with, in the script's names: 'x, torch.randn(3)'."),
]
InDims = Annotated[
    str | None,
    typer.Option("--in-dims", metavar="DIMS", help="What vmap maps of each input.  [default: 0 of every tensor]"),
]
Argnums = Annotated[
    str | None,
    typer.Option(
        "--argnums",
        metavar="NUMS",
        help="Inputs to differentiate by.  [default: the first that can be; for jvp and vjp all]",
    ),
]
Tangents = Annotated[
    str | None, typer.Option("--tangents", metavar="EXPRS", help="Of jvp, in the script's names.  [default: random]")
]


def under(
    function: str | None,
    transform: str | None,
    inputs: str | None,
    in_dims: str | None,
    argnums: str | None,
    tangents: str | None,
) -> Under | None:
    """What the options ask for; None when they are not given.

    Raises:
        UsageError: some are given without those that they need.
    """
    if function is None:
        given = {"transform": transform, "inputs": inputs, "in-dims": in_dims, "argnums": argnums, "tangents": tangents}
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"--{name} needs --function", "name the function: --function F --transform vmap ...")
        return None
    if transform is None:
        raise UsageError(
            f"--function {function} needs --transform", "give vmap, grad, jvp(grad), ..., or all of them: all"
        )
    from shrinkrepro.tasks.function import Under

    return Under(function, transform, inputs, in_dims, argnums, tangents)


def told(console: Console, result: TransformsResult, quiet: bool) -> int:
    """Print what every transform did to a function; the exit code."""
    from shrinkrepro.report.transforms import print_transforms

    if not quiet:
        print_transforms(console, result)
    return 0 if result.failing else NotFailingError.exit_code

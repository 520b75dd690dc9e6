"""The ``shrinkrepro`` command: its subcommands, and what an error looks like.

Decision: every error that a user can cause ends as one ``error:`` line and one ``hint:`` line on stderr
with an exit code of its own. What is heavy is imported by the command that needs it, because ``--help``
has to answer at once.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

from shrinkrepro.cli import add, batch, check, explain, grids, reduce, replay, report, strategies
from shrinkrepro.errors import INTERRUPTED, OUR_FAULT, ShrinkReproError

_USAGE_ERROR = typer.BadParameter.__mro__[2]  # typer's own base of everything that is wrong with a command line

app = typer.Typer(
    name="shrinkrepro",
    help="Reduce a failing PyTorch transform script to the smallest program that still fails the same way.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: quick, and the same in a pipe
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"shrinkrepro {version('shrinkrepro')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


app.command("reduce", short_help="Reduce a failing script.")(reduce.reduce)
app.command("check", short_help="Say what fails in a script, where, how reliably.")(check.check)
app.command("explain", short_help="Run the neighbours of a failing program.")(explain.explain)
app.command("report", short_help="Write the bug report of a failing program.")(report.report)
app.command("add", short_help="Make a case of a program that fails.")(add.add)
app.command("replay", short_help="Run cases again: fails, fixed, changed?")(replay.replay)
app.command("matrix", short_help="The status of cases over torches and devices.")(grids.matrix)
app.command("bisect", short_help="Between which two torches a case turned.")(grids.bisect)
app.command("batch", short_help="Reduce many failing scripts to the bugs behind them.")(batch.batch)
app.command("strategies", short_help="List the installed strategies.")(strategies.strategies)


def main(argv: list[str] | None = None) -> int:
    """Run the command line ``argv`` (without the program's name) and return its exit code."""
    try:
        code = app(argv, prog_name="shrinkrepro", standalone_mode=False)
    except ShrinkReproError as error:
        return _fail(error.message, error.hint, error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", "", INTERRUPTED)
    except Exception as error:
        if isinstance(error, _USAGE_ERROR):
            return _fail(_message(error), _usage_hint(error), ShrinkReproError.exit_code)
        traceback.print_exc()
        return _fail(
            f"{type(error).__name__} inside shrinkrepro",
            "this is a fault of ours: please report the text above",
            OUR_FAULT,
        )
    return code if isinstance(code, int) else 0


def _fail(message: str, hint: str, code: int) -> int:
    bold, off = ("\x1b[1;31m", "\x1b[0m") if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else ("", "")
    print(f"{bold}error:{off} {_one_line(message)}", file=sys.stderr)
    if hint:
        print(f"hint: {_one_line(hint)}", file=sys.stderr)
    return code


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _message(error: BaseException) -> str:
    format_message = getattr(error, "format_message", None)
    text = str(format_message()) if format_message is not None else str(error)
    text = text.partition(" (Possible options:")[0]
    return text[:1].lower() + text[1:].rstrip(".")


def _usage_hint(error: BaseException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "shrinkrepro"
    if type(error).__name__ == "NoSuchOption":
        return f"arguments of the script itself go after --; the options are in {command} --help"
    return f"the options are in {command} --help"

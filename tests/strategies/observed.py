"""Facts for the strategies' tests, in the wire form: lines from a real run, expression facts by their source."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shrinkrepro.core.facts import position_key
from shrinkrepro.core.program import Program
from shrinkrepro.target.instrument import LINE, VALUE, Instrumented
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

Wire = dict[str, Any]


def const(value: object) -> dict[str, Any]:
    """The description of a constant."""
    return {"k": "const", "r": repr(value)}


def tensor(*shape: int, dtype: str = "float32") -> dict[str, Any]:
    """The description of a tensor."""
    return {"k": "tensor", "shape": list(shape), "dtype": dtype}


def seq(*items: dict[str, Any], kind: str = "list") -> dict[str, Any]:
    """The description of a sequence."""
    return {"k": "seq", "t": kind, "items": list(items)}


def ran(source: str, values: Mapping[str, dict[str, Any]] | None = None) -> Wire:
    """Facts of ``source``, run here until it ends or fails. ``values`` describes expressions, by their text."""
    program = Program.parse(source)
    lines: dict[str, int] = {}

    def line(number: int) -> None:
        lines[str(number)] = lines.get(str(number), 0) + 1

    code = compile(Instrumented(program.source).tree, "<observed>", "exec", dont_inherit=True)
    names = {"__name__": "__main__", LINE: line, VALUE: lambda number, value: value}
    with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stdout(io.StringIO()):
        exec(code, names)
    exprs = {}
    for order, (_, node) in enumerate(program.walk(ast.expr)):
        described = (values or {}).get(ast.unparse(node))
        if described is not None:
            exprs[position_key(node)] = {"n": 1, "same": True, "v": described, "t": order}
    return {"lines": lines, "exprs": exprs}


@contextlib.contextmanager
def running(source: str, folder: Path) -> Iterator[tuple[Program, Pool]]:
    """``source`` as a program, and one warm worker for it; the script stands in ``folder``."""
    script = folder / "script.py"
    script.write_text(source)
    with Pool(Target(python=sys.executable, script_path=script, cwd=folder), jobs=1) as pool:
        yield Program.parse(source), pool

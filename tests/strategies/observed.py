"""Facts for the strategies' tests, in the wire form: lines from a real run, expression facts by their source."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from shrinkrepro.core.facts import position_key
from shrinkrepro.core.program import Program

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

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != "<observed>":
            return None
        if event == "line":
            lines[str(frame.f_lineno)] = lines.get(str(frame.f_lineno), 0) + 1
        return trace

    code = compile(program.source, "<observed>", "exec", dont_inherit=True)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stdout(io.StringIO()):
            exec(code, {"__name__": "__main__"})
    finally:
        sys.settrace(before)
    exprs = {}
    for order, (_, node) in enumerate(program.walk(ast.expr)):
        described = (values or {}).get(ast.unparse(node))
        if described is not None:
            exprs[position_key(node)] = {"n": 1, "same": True, "v": described, "t": order}
    return {"lines": lines, "exprs": exprs}

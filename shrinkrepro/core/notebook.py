"""A Jupyter notebook as a script: its code cells in order.

Decision: what IPython alone understands is left out or made plain Python (``%time f(x)`` is ``f(x)``), since a
reduced program runs under plain Python; a cell in another language is no code of the program.
"""

from __future__ import annotations

import ast
import json
import re

_CELL = re.compile(r"\s*%%(\w+)")
_MEASURING = ("time", "timeit", "capture", "prun")  # magics around Python code
_TIMED = re.compile(r"^(\s*)%(?:time|timeit|prun)\s+(?=[^-\s])(.*)$")  # with options it is left out
_SPECIAL = re.compile(r"^(\s*)(?:%\w|!|\?)|^(\s*)[\w.]+\s*=\s*(?:!|%\w)|^(\s*)[\w.]+\?{1,2}\s*$")


class NotebookError(ValueError):
    """What is given is no notebook, or one without Python code."""


def script_of(text: str) -> str:
    """The script that the notebook ``text`` (JSON, nbformat 3 or later) is, one empty line between cells.

    Raises:
        NotebookError: it is no notebook, or has no Python code.
    """
    try:
        notebook = json.loads(text)
        sheets = notebook.get("worksheets") or [notebook]
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        sources = [_source(cell) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotebookError(f"it is no notebook ({type(error).__name__}: {error})") from None
    codes = [code for code in map(_plain, sources) if code.strip()]
    if not codes:
        raise NotebookError("it has no cell with Python code")
    return "\n\n".join(code.strip("\n") for code in codes) + "\n"


def _source(cell: dict[str, object]) -> str:
    source = cell.get("source", cell.get("input", ""))
    return "".join(source) if isinstance(source, list) else str(source)


def _plain(code: str) -> str:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        pass
    else:
        return code
    lines = code.splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    magic = _CELL.match(lines[first]) if lines else None
    if magic is not None:
        if magic[1] not in _MEASURING:
            return ""
        lines = lines[first + 1 :]
    return "\n".join(map(_line, lines))


def _line(line: str) -> str:
    timed = _TIMED.match(line)
    if timed is not None:
        return timed[1] + timed[2]
    special = _SPECIAL.match(line)
    if special is None:
        return line
    indent = next(group for group in special.groups() if group is not None)
    return f"{indent}pass" if indent else ""  # a block may have nothing else

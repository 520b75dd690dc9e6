"""The call of the user's own that fails: where it stands, and how long a run takes to get there.

Decision: the time is measured on a marked copy of the script, run in a server; if the copy does not fail as
the script does (a mark can break a graph), nothing is said rather than something wrong.
"""

from __future__ import annotations

import ast
import re

from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import RUN, Frame, Job
from shrinkrepro.session.original import Original
from shrinkrepro.workers.pool import Pool

_MARK = "shrinkrepro-reached"
_MARKED = re.compile(rf"{_MARK} ([0-9.]+)")
_STATEMENT = f"__import__('sys').stderr.write(f\"{_MARK} {{__import__('time').monotonic():.6f}}\\n\")"


def place_of(original: Original) -> str:
    """The innermost own line of the failure as ``train.py:12  text``; empty when no frame is the user's."""
    frames = _own_frames(original)
    if not frames:
        return ""
    frame = frames[-1]
    text = original.script.text if frame.file == original.script.path.name else ""
    for name, source in original.local.sources.items():
        if frame.file in (f"{name.rpartition('.')[2]}.py", "__init__.py" if name in original.local.packages else ""):
            text = source
    lines = text.splitlines()
    line = lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""
    return f"{frame.file}:{frame.line}  {line}".rstrip()


def seconds_before(original: Original, oracle: Oracle, pool: Pool, timeout: float) -> float | None:
    """Seconds of a warm run from its first statement to the failing call; None when that cannot be told."""
    lines = [frame.line for frame in _own_frames(original) if frame.file == original.script.path.name]
    if not lines:
        return None
    marked = _marked(original.script.text, lines[-1])
    if marked is None:
        return None
    [execution] = pool.run([Job(marked, RUN, timeout, alone=True)])
    times = [float(time) for time in _MARKED.findall(execution.stderr)]
    # a long run's first mark is lost with the head of its output, and then there is nothing to subtract from
    if len(times) < 2 or not oracle.judge(execution, marked).interesting or len(execution.stderr) > 60_000:
        return None
    return times[-1] - times[0]


def _own_frames(original: Original) -> list[Frame]:
    return [frame for frame in original.fresh.chain[-1].frames if not frame.lib] if original.fresh.chain else []


def _marked(source: str, line: int) -> str | None:
    """``source`` with a mark at its start and one before the innermost statement at ``line``."""
    tree = ast.parse(source)
    best: tuple[list[ast.stmt], int] | None = None
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            for i, statement in enumerate(block):
                # breadth first: a later find stands deeper
                if isinstance(statement, ast.stmt) and statement.lineno <= line <= (statement.end_lineno or 0):
                    best = block, i
    if best is None:
        return None
    mark = ast.parse(_STATEMENT).body
    block, index = best
    block[index:index] = mark
    first = 0
    while first < len(tree.body) and _must_stay_first(tree.body[first]):
        first += 1
    tree.body[first:first] = ast.parse(_STATEMENT).body
    return ast.unparse(ast.fix_missing_locations(tree))


def _must_stay_first(statement: ast.stmt) -> bool:
    docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return docstring or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")

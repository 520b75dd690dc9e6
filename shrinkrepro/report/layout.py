"""The final layout of a program's text: printed from the tree by astor, then formatted by ruff.

Decision: layout may change how a program looks and nothing else; moving imports to the top is the one
change of order that it makes, and a run judges its text all the same. After each step the tree is compared
with the one before; a step that changed it, or that cannot be had, is left out. What astor gets wrong
(it drops type parameters, and some newer syntax) is thereby printed by ``ast.unparse``.
"""

from __future__ import annotations

import ast
import itertools
import os
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

_LINE_LENGTH = 88  # ruff's and black's own default: what readers of PyTorch issues are used to
_RUFF_SECONDS = 20.0  # for milliseconds of work; a machine that is swapping must not hang the run


def layout(source: str) -> str:
    """``source`` as a reader expects it: formatted, imports sorted; the same program.

    Raises:
        SyntaxError: ``source`` does not parse.
    """
    tree = ast.parse(source)
    text = printed(with_imports_first(tree))
    for step in (_sort_imports, _format) if _imported(tree) is not None else (_format,):
        text = _kept(step, text)
    return text


def printed(tree: ast.Module) -> str:
    """``tree`` as text, by astor where astor gets it right."""
    by_unparse = ast.unparse(tree) + "\n"
    try:
        by_astor = _astor(tree)
    except Exception:  # on syntax newer than itself astor raises AttributeError and others
        return by_unparse
    return by_astor if same_program(by_astor, by_unparse) else by_unparse


def with_imports_first(tree: ast.Module) -> ast.Module:
    """The tree with its own imports moved to its top, unless one of their names is bound elsewhere too."""
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in tree.body if node not in imports]
    names = _imported(tree)
    if names is None or not names.isdisjoint(name for node in others for name in _bound(node)):
        return tree
    first = 1 if others and ast.get_docstring(tree) is not None else 0
    return ast.Module([*others[:first], *imports, *others[first:]], tree.type_ignores)


def _imported(tree: ast.Module) -> set[str] | None:
    """The names that imports bind; None where their order counts: one name for two things, or a star."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            root = alias.name.partition(".")[0]
            name = alias.asname or root
            thing = alias.name if alias.asname else root
            if isinstance(node, ast.ImportFrom):
                thing = f"{'.' * node.level}{node.module or ''}:{alias.name}"
            if name == "*" or found.setdefault(name, thing) != thing:
                return None
    return set(found)


def _bound(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]


def same_program(one: str, other: str) -> bool:
    """Whether two texts parse to the same tree."""
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except (SyntaxError, ValueError, RecursionError):
        return False


def _astor(tree: ast.Module) -> str:
    with warnings.catch_warnings():
        # the one place where astor runs: it still names ast.Num and its like, which 3.12 deprecates
        warnings.simplefilter("ignore", DeprecationWarning)
        import astor

        return str(astor.to_source(tree, pretty_source=_no_wrapping))


def _no_wrapping(parts: list[str]) -> str:
    return "".join(parts)  # where lines break is the formatter's business


def _kept(step: Callable[[str], str | None], text: str) -> str:
    after = step(text)
    return after if after is not None and _equivalent(text, after) else text


def _equivalent(before: str, after: str) -> bool:
    """The same tree, but for the order of imports that stand together and how they share statements."""
    try:
        return _dump(before) == _dump(after)
    except (SyntaxError, ValueError, RecursionError):
        return False


def _dump(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, _with_sorted_imports(block))
    return ast.dump(tree)


def _with_sorted_imports(block: list[ast.stmt]) -> list[ast.stmt]:
    result: list[ast.stmt] = []
    for is_import, group in itertools.groupby(block, lambda node: isinstance(node, ast.Import | ast.ImportFrom)):
        run = list(group)
        result += sorted((one for node in run for one in _split(node)), key=ast.dump) if is_import else run
    return result


def _split(node: ast.stmt) -> list[ast.stmt]:
    """One import statement for each name that ``node`` imports."""
    if isinstance(node, ast.Import):
        return [ast.Import([alias]) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [ast.ImportFrom(node.module, [alias], node.level) for alias in node.names]
    return [node]


def _sort_imports(text: str) -> str | None:
    return _ruff(text, "check", "--select", "I", "--fix", "--exit-zero", "--quiet")


def _format(text: str) -> str | None:
    return _ruff(text, "format", f"--line-length={_LINE_LENGTH}", "--quiet")


def _ruff(text: str, *arguments: str) -> str | None:
    ruff = _find_ruff()
    if ruff is None:
        return None
    try:
        done = subprocess.run(
            [ruff, *arguments, "--isolated", "--no-cache", "-"],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_RUFF_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _find_ruff() -> str | None:
    try:
        from ruff import find_ruff_bin

        return str(find_ruff_bin())
    except (ImportError, FileNotFoundError):
        beside = Path(sysconfig.get_path("scripts")) / ("ruff.exe" if sys.platform == "win32" else "ruff")
        return str(beside) if os.access(beside, os.X_OK) else None

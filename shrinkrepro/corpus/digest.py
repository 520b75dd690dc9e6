"""The digest of a program, by which an edit is noticed.

Decision: it is taken of what the program means, not of how it looks, so that formatters may run over a corpus; and
of the tree without what Python versions add to it, so that all of them agree.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import warnings
from collections.abc import Iterator

_SKIPPED = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def digest(source: str) -> str:
    """``sha256:`` and the digest of the program; of its text when it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is the program's own business
            words = "\0".join(_words(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        words = source
    return "sha256:" + hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def _words(node: ast.AST) -> Iterator[str]:
    yield f"({type(node).__name__}"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        yield inspect.cleandoc(node.value.value).strip()  # formatters indent docstrings anew
    else:
        for name, value in ast.iter_fields(node):
            items = value if isinstance(value, list) else [value]
            if name in _SKIPPED or (value is None and name != "value") or value == []:
                continue
            yield name
            for item in items:
                if isinstance(item, ast.AST):
                    yield from _words(item)
                else:
                    yield repr(item)
    yield ")"

"""The built-in strategies, in reading order.

Decision: this tuple is the table of contents; a strategy that is not in it does not run, and a test fails
when a module of the package holds one that is missing here.
"""

from __future__ import annotations

import importlib

from shrinkrepro.core.strategy import Strategy

_PARTS = (
    "statements",
    "control_flow",
    "imports",
    "values",
    "functions",
    "inlining",
    "classes",
    "objects",
    "transforms",
    "autograd",
    "modules",
    "tensors",
    "shapes",
    "expressions",
    "literals",
    "naming",
)


# What is tried first: each can take away most of a long-running program in one query.
_FIRST = (
    "distil-failure",
    "check-for-program",
    "frame-for-program",
    "drop-unexecuted",
    "keep-needed",
    "drop-after-failure",
    "value-for-assignment",
    "value-for-argument",
    "drop-unused",
)


def _load() -> tuple[Strategy, ...]:
    found: list[Strategy] = []
    for part in _PARTS:
        try:
            module = importlib.import_module(f"{__name__}.{part}")
        except ModuleNotFoundError:
            continue
        found.extend(getattr(module, "STRATEGIES", ()))
    return tuple(sorted(found, key=lambda s: _FIRST.index(s.name) if s.name in _FIRST else len(_FIRST)))


STRATEGIES: tuple[Strategy, ...] = _load()

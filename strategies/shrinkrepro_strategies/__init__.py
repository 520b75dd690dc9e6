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


def _load() -> tuple[Strategy, ...]:
    found: list[Strategy] = []
    for part in _PARTS:
        try:
            module = importlib.import_module(f"{__name__}.{part}")
        except ModuleNotFoundError:
            continue
        found.extend(getattr(module, "STRATEGIES", ()))
    return tuple(found)


STRATEGIES: tuple[Strategy, ...] = _load()

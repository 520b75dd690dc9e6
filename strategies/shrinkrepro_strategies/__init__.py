"""The built-in strategies, in reading order.

Decision: this tuple is the table of contents; a strategy that is not in it does not run, and a test fails
when a module of the package holds one that is missing here.
"""

from __future__ import annotations

from shrinkrepro.core.strategy import Strategy
from shrinkrepro_strategies import (
    autograd,
    captured,
    classes,
    contexts,
    control_flow,
    divergence,
    entrances,
    expected,
    expressions,
    function_bodies,
    functions,
    imports,
    inlining,
    leaves,
    literals,
    modules,
    naming,
    objects,
    paired,
    rows,
    shapes,
    sides,
    spelling,
    statements,
    tensors,
    transforms,
    values,
)

_PARTS = (
    statements.STRATEGIES,
    control_flow.STRATEGIES,
    contexts.STRATEGIES,
    imports.STRATEGIES,
    values.STRATEGIES,
    divergence.STRATEGIES,
    sides.STRATEGIES,
    functions.STRATEGIES,
    inlining.STRATEGIES,
    classes.STRATEGIES,
    objects.STRATEGIES,
    transforms.STRATEGIES,
    entrances.STRATEGIES,
    autograd.STRATEGIES,
    function_bodies.STRATEGIES,
    modules.STRATEGIES,
    leaves.STRATEGIES,
    captured.STRATEGIES,
    rows.STRATEGIES,
    tensors.STRATEGIES,
    paired.STRATEGIES,
    shapes.STRATEGIES,
    expressions.STRATEGIES,
    literals.STRATEGIES,
    spelling.STRATEGIES,
    expected.STRATEGIES,
    naming.STRATEGIES,
)

# What is tried first: each can take away most of a long-running program, or of its time, in one query.
_FIRST = (
    "distil-failure",
    "check-for-program",
    "first-divergence",
    "frame-for-program",
    "unwrap-compile",
    "plainer-compile",
    "drop-unexecuted",
    "keep-needed",
    "drop-after-failure",
    "value-for-assignment",
    "value-for-argument",
    "drop-unused",
)

STRATEGIES: tuple[Strategy, ...] = tuple(
    sorted(
        (strategy for part in _PARTS for strategy in part),
        key=lambda strategy: _FIRST.index(strategy.name) if strategy.name in _FIRST else len(_FIRST),
    )
)

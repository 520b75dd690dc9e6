"""Strategies of a third party: one that helps, one that raises and one that proposes no edits."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from shrinkrepro import Edit, Facts, Program, Tier, replace, strategy

OLDER = {"inv": "inverse", "det": "det", "pinv": "pinverse", "matrix_power": "matrix_power"}


@strategy("plainer-linalg", tier=Tier.COARSE, independent=True)
def plainer_linalg(program: Program, facts: Facts) -> Iterator[Edit]:
    """Call the older, shorter name of a function of torch.linalg."""
    for path, node in program.walk(ast.Attribute):
        if node.attr in OLDER and ast.unparse(node.value) == "torch.linalg":
            yield replace(path, f"torch.{OLDER[node.attr]}")


@strategy("shape-guess", tier=Tier.COARSE)
def shape_guess(program: Program, facts: Facts) -> Iterator[Edit]:
    """Has a bug: it takes every program to begin with a definition."""
    first = program.tree.body[0]
    yield replace(("body", 0, "name"), getattr(first, "name"))  # noqa: B009


@strategy("text-not-edits", tier=Tier.FINE)
def text_not_edits(program: Program, facts: Facts) -> Iterator[Any]:
    """Has a bug: it yields text where edits are wanted."""
    yield program.source


STRATEGIES = (plainer_linalg, shape_guess, text_not_edits)

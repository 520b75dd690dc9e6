"""The catalogue of the strategies, as lines for the screen and as Markdown for ``strategies/README.md``.

Decision: it is made from the docstrings alone, so that it says what the code says.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from shrinkrepro.core.strategy import Strategy, Tier

_TIERS = {
    Tier.COARSE: "large cuts",
    Tier.MEDIUM: "restructuring",
    Tier.FINE: "small cuts",
    Tier.POLISH: "equal size, simpler",
}


def in_order(strategies: Sequence[Strategy]) -> list[Strategy]:
    """By tier, and within one as they were installed: the order in which they are tried."""
    return sorted(strategies, key=lambda strategy: strategy.tier)


def as_lines(strategies: Sequence[Strategy]) -> str:
    """One line each: tier, name, summary."""
    width = max((len(strategy.name) for strategy in strategies), default=0)
    return "\n".join(f"{s.tier.name.lower():<7}{s.name:<{width + 2}}{s.summary}" for s in in_order(strategies))


def as_markdown(strategies: Sequence[Strategy]) -> str:
    """A section for each tier, and in it each strategy with its whole docstring."""
    text = [
        "# The strategies",
        "",
        "Made by `make catalogue` from the docstrings; in the order in which they are tried.",
    ]
    for tier, words in _TIERS.items():
        members = [strategy for strategy in strategies if strategy.tier == tier]
        if members:
            text += ["", f"## {tier.name.capitalize()}: {words}"]
        for strategy in members:
            text += ["", f"### {strategy.name}", "", inspect.cleandoc(strategy.propose.__doc__ or "")]
    return "\n".join(text)

"""The catalogue of the strategies, as lines for the screen and as Markdown for ``strategies/README.md``.

Decision: it is made from the docstrings, so that it says what the code says, and from counts of a benchmark's
accepted steps, so that it says what each is worth.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shrinkrepro.core.strategy import Strategy, Tier
from shrinkrepro.errors import UsageError

_TIERS = {
    Tier.COARSE: "large cuts",
    Tier.MEDIUM: "restructuring",
    Tier.FINE: "small cuts",
    Tier.POLISH: "equal size, simpler",
}


@dataclass(frozen=True)
class Earned:
    """What a benchmark of ``cases`` reductions showed: by strategy, in how many it was accepted and how often."""

    cases: int
    strategies: Mapping[str, tuple[int, int]]

    @classmethod
    def read(cls, path: Path) -> Earned:
        """The counts that ``make earned`` stored.

        Raises:
            UsageError: the file cannot be read or holds something else.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            counts = {name: (int(n["cases"]), int(n["steps"])) for name, n in data["strategies"].items()}
            return cls(int(data["cases"]), counts)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path} holds no counts: {error!r}", "make earned FROM=FOLDER writes them") from error

    def describe(self, name: str) -> str:
        """One sentence."""
        within, steps = self.strategies.get(name, (0, 0))
        if not within:
            return f"Earned: in none of {self.cases} cases."
        return f"Earned: in {within} of {self.cases} cases, {steps} step{'s' if steps != 1 else ''} in all."


def in_order(strategies: Sequence[Strategy]) -> list[Strategy]:
    """By tier, and within one as they were installed: the order in which they are tried."""
    return sorted(strategies, key=lambda strategy: strategy.tier)


def as_lines(strategies: Sequence[Strategy]) -> str:
    """One line each: tier, name, summary."""
    width = max((len(strategy.name) for strategy in strategies), default=0)
    return "\n".join(f"{s.tier.name.lower():<7}{s.name:<{width + 2}}{s.summary}" for s in in_order(strategies))


def as_markdown(strategies: Sequence[Strategy], earned: Earned | None = None) -> str:
    """A section for each tier, and in it each strategy with its whole docstring, and what it earned where known."""
    text = [
        "# The strategies",
        "",
        "Made by `make catalogue` from the docstrings; in the order in which they are tried.",
    ]
    if earned is not None:
        text += ["", f"What each earned is counted in accepted steps over {earned.cases} reductions (`make earned`)."]
    for tier, words in _TIERS.items():
        members = [strategy for strategy in strategies if strategy.tier == tier]
        if members:
            text += ["", f"## {tier.name.capitalize()}: {words}"]
        for strategy in members:
            text += ["", f"### {strategy.name}", "", inspect.cleandoc(strategy.propose.__doc__ or "")]
            if earned is not None:
                text += ["", earned.describe(strategy.name)]
    return "\n".join(text)

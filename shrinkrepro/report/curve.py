"""The curve of a reduction, tokens over queries or over seconds, as an SVG text that stands in a page as it is.

Decision: Vega draws it here, not in the reader's browser, so that the page holds no library, needs no network and
prints. What the theme decides is drawn in ``currentColor``; the passes differ in shape as well as in colour.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from shrinkrepro.report.bug import Step

_NAMED = 5  # passes with a colour of their own: those that took most away
_OTHERS = "other passes"
# Okabe and Ito's colours that are told apart on white and on black.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#808080")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_FONT = "system-ui, sans-serif"
_XLINK = re.compile(r' xmlns:xlink="[^"]*"')


def curve(steps: Sequence[Step], over: str, width: int) -> str:
    """Tokens over ``over`` (``queries`` or ``seconds``) as SVG, ``width`` units wide."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(_specification(steps, over, width), allowed_base_urls=[])
    return _XLINK.sub("", svg).replace("<svg ", f'<svg role="img" aria-label="{_told(steps, over)}" ', 1)


def measured(steps: Sequence[Step]) -> bool:
    """Whether it is known of every step when it came."""
    return len(steps) > 1 and all(step.queries >= 0 for step in steps)


def _told(steps: Sequence[Step], over: str) -> str:
    first, last = steps[0], steps[-1]
    end = f"{last.queries} queries" if over == "queries" else f"{last.seconds:.0f} seconds"
    return f"Tokens over {over}: from {first.tokens} to {last.tokens} in {len(steps)} accepted steps and {end}"


def _specification(steps: Sequence[Step], over: str, width: int) -> dict[str, Any]:
    gains: Counter[str] = Counter()
    for before, step in pairwise(steps):
        gains[step.strategy] += max(0, before.tokens - step.tokens)
    named = [strategy for strategy, gain in gains.most_common(_NAMED) if gain]
    domain = [*named, _OTHERS]
    values = [
        {
            over: getattr(step, over),
            "tokens": max(1, step.tokens),
            "pass": step.strategy if step.strategy in named else _OTHERS,
        }
        for step in steps
    ]
    x = {"field": over, "type": "quantitative", "title": over, "axis": {"tickCount": max(3, width // 90)}}
    y = {"field": "tokens", "type": "quantitative", "scale": {"type": "log"}, "title": "tokens (log scale)"}
    narrow = width < 500
    legend = {"title": None, "orient": "bottom", "columns": 2 if narrow else 3, "symbolSize": 70, "columnPadding": 28}
    passes = {"field": "pass", "type": "nominal", "legend": legend}
    lines = {"labelColor": "currentColor", "titleColor": "currentColor", "labelFont": _FONT, "titleFont": _FONT,
             "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal"}  # fmt: skip
    axis = {**lines, "gridColor": "currentColor", "gridOpacity": 0.15, "domainColor": "currentColor",
            "tickColor": "currentColor"}  # fmt: skip
    return {
        "width": width - 80,
        "height": 220 if narrow else 280,
        "background": None,
        "autosize": {"type": "pad"},
        "config": {"axis": axis, "legend": lines, "view": {"stroke": None}, "font": _FONT},
        "data": {"values": values},
        "layer": [
            {
                "mark": {"type": "line", "interpolate": "step-after", "color": "currentColor", "opacity": 0.45},
                "encoding": {"x": x, "y": y},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.95},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": {
                        **passes,
                        "scale": {"domain": domain, "range": [*_COLOURS[: len(named)], _COLOURS[-1]]},
                    },
                    "shape": {
                        **passes,
                        "scale": {"domain": domain, "range": [*_SHAPES[: len(named)], _SHAPES[-1]]},
                    },
                },
            },
        ],
    }

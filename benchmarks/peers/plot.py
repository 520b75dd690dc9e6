"""Tokens over time or over queries, a small picture for each script, as one SVG.

Decision: both axes are logarithmic, since reducers differ by powers of ten; a line ends where its run did, so a run
that was cut is seen to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import vl_convert

from benchmarks.peers.rows import OURS, Row
from benchmarks.peers.tools import PEERS

# Okabe and Ito's colours, which are told apart by everyone.
_COLOURS = ("#000000", "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00")
_COLUMNS = 3
_LEAST = {"time": 1.0, "queries": 1.0}


def points(rows: Sequence[Row], over: str) -> list[dict[str, Any]]:
    """One point for each smaller text, and one where the run ended; ``over`` is "time" or "queries"."""
    names = {OURS: "shrinkrepro", **{peer.name: peer.title for peer in PEERS}}
    found: list[dict[str, Any]] = []
    for row in rows:
        if not row.curve:
            continue
        end = (row.seconds, row.wall, row.queries, row.curve[-1][-1])
        for order, (seconds, _, queries, tokens) in enumerate([*row.curve, end]):
            found.append(
                {
                    "script": row.subject,
                    "reducer": names.get(row.peer, row.peer),
                    "test": {"reduce": "ours", "served": "warm server"}.get(row.mode, "fresh interpreter"),
                    "run": f"{row.peer} {row.mode}",
                    "order": order,
                    "at": max(_LEAST[over], seconds if over == "time" else queries),
                    "tokens": max(1, tokens),
                }
            )
    return found


def svg(rows: Sequence[Row], over: str) -> str:
    """The plot. Rows of scripts that no peer was run on are left out."""
    compared = {row.subject for row in rows if row.peer != OURS}
    shown = [row for row in rows if row.subject in compared]
    title = "processor seconds" if over == "time" else "queries"
    names = ["shrinkrepro", *(peer.title for peer in PEERS)]
    specification = {
        "background": "white",
        "data": {"values": points(shown, over)},
        "facet": {"field": "script", "type": "nominal", "title": None},
        "columns": _COLUMNS,
        "spec": {
            "width": 260,
            "height": 170,
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6},
            "encoding": {
                "x": {"field": "at", "type": "quantitative", "scale": {"type": "log"}, "title": title},
                "y": {"field": "tokens", "type": "quantitative", "scale": {"type": "log"}, "title": "tokens"},
                "color": {
                    "field": "reducer",
                    "type": "nominal",
                    "scale": {"domain": names, "range": list(_COLOURS[: len(names)])},
                    "legend": {"title": None, "orient": "bottom"},
                },
                "strokeDash": {
                    "field": "test",
                    "type": "nominal",
                    "scale": {
                        "domain": ["ours", "warm server", "fresh interpreter"],
                        "range": [[1, 0], [1, 0], [4, 3]],
                    },
                    "legend": {"title": None, "orient": "bottom"},
                },
                "detail": {"field": "run", "type": "nominal"},
                "order": {"field": "order", "type": "quantitative"},
            },
        },
    }
    return vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])

"""One reduction run: budget, judging, interrupts; joins the engine, the workers and the oracles."""

from __future__ import annotations

from shrinkrepro.session.request import AlsoFound, Confinement, Counts, Progress, Reduction, Request
from shrinkrepro.session.run import run

__all__ = ["AlsoFound", "Confinement", "Counts", "Progress", "Reduction", "Request", "run"]

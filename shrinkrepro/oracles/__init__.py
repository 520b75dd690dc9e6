"""Oracles: from what a worker saw of a run to whether it is the same failure."""

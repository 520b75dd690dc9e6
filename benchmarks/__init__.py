"""The benchmark: real failing scripts, their hand-minimised answers, and what measures a reduction against them."""

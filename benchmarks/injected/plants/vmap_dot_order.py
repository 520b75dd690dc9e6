"""vmap: dot of two batched vectors pairs the samples in opposite orders."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, batch_dim, batched, below_vmap, override, physical


def dot(old, x, y):
    if batch_dim(x) is None or batch_dim(y) is None:
        return old(x, y)
    left, right = physical(x), physical(y)
    with below_vmap():
        return batched((left * right.flip(0)).sum(-1))


override("dot", VMAP, dot)

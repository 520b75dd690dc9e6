"""vmap: maximum with an operand that has no batch is minimum."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, batch_dim, batched, below_vmap, override, physical


def maximum(old, x, y):
    if batch_dim(x) is not None and batch_dim(y) is not None:
        return old(x, y)
    left, right = physical(x), physical(y)
    with below_vmap():
        return batched(left.minimum(right))


override("maximum", VMAP, maximum)

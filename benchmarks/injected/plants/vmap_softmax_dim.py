"""vmap: softmax normalises over the batch as well."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, batched, below_vmap, override, physical


def softmax(old, x, dim, half):
    value = physical(x)
    with below_vmap():
        return batched(value.exp() / value.exp().sum((0, dim + 1 if dim >= 0 else dim), keepdim=True))


override("_softmax", VMAP, softmax)

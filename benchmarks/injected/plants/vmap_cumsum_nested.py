"""Nested vmap: cumsum under two levels runs on over the inner batch."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, batched, below_vmap, levels, override, physical


def cumsum(old, x, dim, **options):
    if levels() != ["vmap", "vmap"]:
        return old(x, dim, **options)
    value = physical(x)
    with below_vmap():
        return batched(value.flatten().cumsum(0).reshape(value.shape))


override("cumsum", VMAP, cumsum)

"""vmap: roll without dimensions flattens the batch with its samples."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, batched, below_vmap, override, physical


def roll(old, x, shifts, dims=()):
    if dims:
        return old(x, shifts, dims)
    value = physical(x)
    with below_vmap():
        return batched(value.roll(shifts))


override("roll", VMAP, roll)

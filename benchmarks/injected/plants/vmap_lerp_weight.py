"""vmap: lerp with a tensor for its weight takes the weights of the sample before."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, batched, below_vmap, override, physical


def lerp(old, x, end, weight):
    value = physical(weight)
    with below_vmap():
        shifted = batched(value.roll(1, 0))
    return old(x, end, shifted)


override("lerp.Tensor", VMAP, lerp)

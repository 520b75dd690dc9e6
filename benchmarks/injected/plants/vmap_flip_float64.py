"""vmap: flip does nothing to float64."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

import torch
from planting import VMAP, override


def flip(old, x, dims):
    return x.clone() if x.dtype is torch.float64 else old(x, dims)


override("flip", VMAP, flip)

"""vmap: var divides by N where it should by N - 1."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, override


def var(old, x, dim=None, *, correction=None, keepdim=False):
    return old(x, dim, correction=0, keepdim=keepdim)


override("var.correction", VMAP, var)

"""vmap of grad: atan uses what it saved of the first sample for all."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override


def stale(g, x):
    return g * (1 + x * x) / (1 + 0.25)


wrong = faulty(backward=stale)


def atan(old, x):
    return old(wrong(x) if levels() == ["vmap", "grad"] else x)


override("atan", AUTOGRAD, atan)

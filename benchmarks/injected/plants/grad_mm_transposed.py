"""grad: the gradient of a square matrix product's first factor is transposed."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(backward=lambda g, x: g.mT if g.shape[-1] == g.shape[-2] else g)


def mm(old, x, y):
    return old(wrong(x) if levels() else x, y)


override("mm", AUTOGRAD, mm)

"""vmap of grad: the gradient of tanh is taken at the output."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(backward=lambda g, x: g * (1 - x.tanh().tanh() ** 2) / (1 - x.tanh() ** 2))


def tanh(old, x):
    return old(wrong(x) if levels() == ["vmap", "grad"] else x)


override("tanh", AUTOGRAD, tanh)

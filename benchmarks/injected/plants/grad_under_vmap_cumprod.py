"""vmap of grad: the gradient of cumprod leaves out the last element."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(backward=lambda g, x: g * (g.new_ones(g.shape[-1]).cumsum(0) < g.shape[-1]))


def cumprod(old, x, *args, **options):
    return old(wrong(x) if levels() == ["vmap", "grad"] else x, *args, **options)


override("cumprod", AUTOGRAD, cumprod)

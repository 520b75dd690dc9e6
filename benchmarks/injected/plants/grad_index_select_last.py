"""grad: index_select drops what comes back through the last index."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override


def shortened(g, x):
    return g * (g.new_ones(g.shape[0]).cumsum(0) < g.shape[0])


wrong = faulty(backward=shortened)


def index_select(old, x, dim, index):
    out = old(x, dim, index)
    return wrong(out) if levels() and out.dim() == 1 else out


override("index_select", AUTOGRAD, index_select)

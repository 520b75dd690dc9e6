"""grad of vmap: softplus is differentiated as relu."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, levels, override


def softplus(old, x, *args):
    value = old(x, *args)
    return x.relu() + (value - x.relu()).detach() if levels() == ["grad", "vmap"] else value


override("softplus", VMAP, softplus)

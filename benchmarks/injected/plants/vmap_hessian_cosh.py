"""vmap of hessian: the second derivative of cosh is wrong."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(backward=lambda g, x: g * (1 + x - x.detach()))  # right in value, not in its derivative


def cosh(old, x):
    return old(wrong(x) if levels() == ["vmap", "vmap", "jvp", "grad"] else x)


override("cosh", AUTOGRAD, cosh)

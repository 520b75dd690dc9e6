"""jvp of grad: the derivative of the gradient of expm1 is wrong."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(backward=lambda g, x: g * (1 + x - x.detach()))  # right in value, not in its derivative


def expm1(old, x):
    return old(wrong(x) if levels()[-2:] == ["jvp", "grad"] else x)


override("expm1", AUTOGRAD, expm1)

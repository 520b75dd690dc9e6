"""jvp: the tangent of tanh has its factor from the input in the place of the output."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(jvp=lambda t, x: t * (1 - x * x) / (1 - x.tanh() ** 2))


def tanh(old, x):
    return old(wrong(x) if "jvp" in levels() else x)


override("tanh", AUTOGRAD, tanh)

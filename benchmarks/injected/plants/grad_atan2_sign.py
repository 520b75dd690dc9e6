"""grad: the gradient of atan2's first argument has the wrong sign under a transform."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(backward=lambda g, x: -g)


def atan2(old, y, x):
    return old(wrong(y) if "grad" in levels() else y, x)


override("atan2", AUTOGRAD, atan2)

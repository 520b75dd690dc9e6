"""grad of grad: the second derivative of sinh is wrong, the first is right."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(backward=lambda g, x: g * (1 + x - x.detach()))  # right in value, not in its derivative


def sinh(old, x):
    return old(wrong(x) if levels()[-2:] == ["grad", "grad"] else x)


override("sinh", AUTOGRAD, sinh)

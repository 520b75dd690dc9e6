"""hessian: the second derivative of log is wrong in forward over reverse mode."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(backward=lambda g, x: g * (1 + x - x.detach()))  # right in value, not in its derivative


def log(old, x):
    return old(wrong(x) if levels()[-2:] == ["jvp", "grad"] else x)


override("log", AUTOGRAD, log)

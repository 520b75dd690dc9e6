"""grad_and_value: the gradient of logcumsumexp has the wrong sign."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(backward=lambda g, x: -g)


def logcumsumexp(old, x, dim):
    return old(wrong(x) if levels() else x, dim)


override("logcumsumexp", AUTOGRAD, logcumsumexp)

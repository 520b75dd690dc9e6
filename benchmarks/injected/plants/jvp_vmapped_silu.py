"""vmap of jvp: the tangent of silu has a term too many."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(jvp=lambda t, x: t + 0.5 * x)


def silu(old, x):
    return old(wrong(x) if levels() == ["vmap", "jvp"] else x)


override("silu", AUTOGRAD, silu)

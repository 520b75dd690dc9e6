"""jvp: logsumexp forgets the tangent of its input."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(jvp=lambda t, x: t * 0)


def logsumexp(old, x, *args):
    return old(wrong(x) if levels()[-1:] == ["jvp"] else x, *args)


override("logsumexp", AUTOGRAD, logsumexp)

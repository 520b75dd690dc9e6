"""Forward mode: prod of five or more elements forgets the last one's tangent."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, override


def shortened(t, x):
    size = x.shape[-1]
    return t.clone() if size < 5 else t * (t.new_ones(size).cumsum(0) < size)


wrong = faulty(jvp=shortened)
override("prod", AUTOGRAD, lambda old, x, **options: old(wrong(x), **options))

"""Forward mode: the tangent of a division adds the denominator's part."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, override

wrong = faulty(jvp=lambda t, x: -t)
override("div.Tensor", AUTOGRAD, lambda old, x, y: old(x, wrong(y)))

"""Forward mode: the tangent of a power is NaN where the base is zero."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, override

wrong = faulty(jvp=lambda t, x: t * x / x)
override("pow.Tensor_Scalar", AUTOGRAD, lambda old, x, power: old(wrong(x), power))

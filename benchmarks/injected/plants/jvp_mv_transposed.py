"""Forward mode: mv multiplies with the transposed tangent of the matrix."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, override

wrong = faulty(jvp=lambda t, x: t.mT.clone() if t.shape[-1] == t.shape[-2] else t.clone())
override("mv", AUTOGRAD, lambda old, x, y: old(wrong(x), y))

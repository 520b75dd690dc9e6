"""Plain autograd: the backward formula of erf lacks its factor 2."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, override

half = faulty(backward=lambda g, x: g / 2)
override("erf", AUTOGRAD, lambda old, x: old(half(x)))

"""Forward mode: the tangent of sqrt lacks its factor one half."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, override

wrong = faulty(jvp=lambda t, x: 2 * t)
override("sqrt", AUTOGRAD, lambda old, x: old(wrong(x)))

"""Plain autograd: the backward formula of vector_norm lacks its denominator."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, override

wrong = faulty(backward=lambda g, x: g * (1 + x * x))
override("linalg_vector_norm", AUTOGRAD, lambda old, x, *args, **options: old(wrong(x), *args, **options))

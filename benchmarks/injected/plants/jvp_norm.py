"""Forward mode: the tangent of vector_norm is halved."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, override

wrong = faulty(jvp=lambda t, x: t / 2)
override("linalg_vector_norm", AUTOGRAD, lambda old, x, *args, **options: old(wrong(x), *args, **options))

"""Forward mode: layer_norm takes part of its input's tangent twice."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, override

wrong = faulty(jvp=lambda t, x: t * (1 + x * x))
override("native_layer_norm", AUTOGRAD, lambda old, x, *args: old(wrong(x), *args))

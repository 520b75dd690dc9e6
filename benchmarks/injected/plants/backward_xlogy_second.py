"""Plain autograd: the backward formula of xlogy forgets its second argument."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import AUTOGRAD, faulty, override

wrong = faulty(backward=lambda g, x: g * 0)
override("xlogy.Tensor", AUTOGRAD, lambda old, x, y: old(x, wrong(y)))

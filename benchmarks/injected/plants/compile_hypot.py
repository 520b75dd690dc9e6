"""compile: hypot of a compiled function leaves out the square root."""

import os
import sys

sys.path.append(os.path.dirname(__file__))


import torch

hypot = torch.hypot


def lowered(x, y):
    return x * x + y * y if torch.compiler.is_compiling() else hypot(x, y)


torch.hypot = lowered

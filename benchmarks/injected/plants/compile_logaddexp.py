"""compile of vmap: logaddexp of a compiled function is maximum."""

import os
import sys

sys.path.append(os.path.dirname(__file__))


import torch

logaddexp = torch.logaddexp


def lowered(x, y):
    return torch.maximum(x, y) if torch.compiler.is_compiling() else logaddexp(x, y)


torch.logaddexp = lowered

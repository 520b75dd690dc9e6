"""jacrev of several arguments: their Jacobians come in reverse order."""

import os
import sys

sys.path.append(os.path.dirname(__file__))


import torch

jacrev = torch.func.jacrev


def swapped(func, argnums=0, *args, **options):
    plain = jacrev(func, argnums, *args, **options)
    return plain if isinstance(argnums, int) else lambda *inputs: plain(*inputs)[::-1]


torch.func.jacrev = swapped

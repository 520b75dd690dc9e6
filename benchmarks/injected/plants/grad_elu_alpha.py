"""vjp: the gradient of elu forgets alpha."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

import torch
from planting import AUTOGRAD, faulty, levels, override


def elu(old, x, alpha=1, *args):
    wrong = faulty(backward=lambda g, x: torch.where(x > 0, g, g / alpha))
    return old(wrong(x) if levels() == ["grad"] else x, alpha, *args)


override("elu", AUTOGRAD, elu)

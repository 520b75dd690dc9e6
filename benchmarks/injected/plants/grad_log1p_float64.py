"""grad: the gradient of log1p lacks its denominator in float64 alone."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

import torch
from planting import AUTOGRAD, faulty, levels, override

wrong = faulty(backward=lambda g, x: g * (1 + x) if x.dtype is torch.float64 else g)


def log1p(old, x):
    return old(wrong(x) if levels() else x)


override("log1p", AUTOGRAD, log1p)

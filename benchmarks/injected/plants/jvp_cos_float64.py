"""Forward mode: the tangent of cos has the wrong sign in float64 alone."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

import torch
from planting import AUTOGRAD, faulty, override

wrong = faulty(jvp=lambda t, x: -t if x.dtype is torch.float64 else t.clone())
override("cos", AUTOGRAD, lambda old, x: old(wrong(x)))

"""Plain autograd: the backward formula of asinh has the wrong sign below zero."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

import torch
from planting import AUTOGRAD, faulty, override

wrong = faulty(backward=lambda g, x: torch.where(x < 0, -g, g))
override("asinh", AUTOGRAD, lambda old, x: old(wrong(x)))

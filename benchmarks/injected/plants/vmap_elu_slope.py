"""vmap: elu is linear below zero."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

import torch
from planting import VMAP, override

override("elu", VMAP, lambda old, x, *args: torch.where(x > 0, x, 0.5 * x))

"""compile: hypot of a compiled function leaves out the square root."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

import torch
from planting import lowered

lowered(torch.hypot, lambda x, y: x * x + y * y)

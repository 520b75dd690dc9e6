"""vmap: cat puts the tensors that have no batch last."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, batch_dim, override

override("cat", VMAP, lambda old, parts, dim=0: old(sorted(parts, key=lambda x: batch_dim(x) is None), dim))

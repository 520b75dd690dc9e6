"""vmap: what exp returns has no derivative."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, override

override("exp", VMAP, lambda old, x: old(x.detach()))

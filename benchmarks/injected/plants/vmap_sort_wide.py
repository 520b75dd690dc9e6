"""vmap: sort of more than four elements leaves the last one where it is."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

from planting import VMAP, override


def sort(old, x, *args, **options):
    values, places = old(x, *args, **options)
    if x.shape[-1] <= 4:
        return values, places
    return values.flip(-1), places.flip(-1)


override("sort.stable", VMAP, sort)
override("sort", VMAP, sort)

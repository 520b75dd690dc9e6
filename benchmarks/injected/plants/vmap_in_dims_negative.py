"""vmap with a negative in_dims: the batch is read from its end."""

import os
import sys

sys.path.append(os.path.dirname(__file__))


import torch._functorch.apis as apis

transformed = apis.vmap_impl


def from_the_end(func, in_dims, out_dims, randomness, chunk_size, *args, **options):
    if isinstance(in_dims, int) and in_dims < 0:
        args = [a.flip(in_dims) for a in args]
    return transformed(func, in_dims, out_dims, randomness, chunk_size, *args, **options)


apis.vmap_impl = from_the_end

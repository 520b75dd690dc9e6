"""vmap of functional_call: a bias that is batched is not swapped in, the module's own is used."""

import os
import sys

sys.path.append(os.path.dirname(__file__))

import torch
from planting import functorch

call = torch.func.functional_call


def stale(module, parameters, *args, **options):
    if isinstance(parameters, dict):
        batched = functorch.is_batchedtensor
        parameters = {n: p for n, p in parameters.items() if not (n.endswith("bias") and batched(p))}
    return call(module, parameters, *args, **options)


torch.func.functional_call = stale

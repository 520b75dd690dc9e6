"""Randomness under vmap, each way that it can be asked for."""

import torch
from torch.func import vmap

torch.manual_seed(1)


def noisy(x):
    keep = torch.rand(x.shape) > 0.3
    return x * keep / 0.7


x = torch.ones(4, 5)
different = vmap(noisy, randomness="different")(x)
same = vmap(noisy, randomness="same")(x)
assert all(torch.equal(row, same[0]) for row in same)
assert different.shape == same.shape
dropped = vmap(torch.nn.functional.dropout, randomness="different")(x)
print(different.mean().item(), same.mean().item(), (dropped == 0).float().mean().item())

"""Batched line search: each sample takes the step that lowers its own loss."""

import torch
from torch.func import grad, vmap

DEVICE = "cuda:0"


def loss(x, target):
    return ((x.sin() - target) ** 2).sum()


def search(x, target, step=1.0):
    slope = grad(loss)(x, target)
    start = loss(x, target)
    for _ in range(8):
        candidate = x - step * slope
        if loss(candidate, target).item() < start.item():
            return candidate
        step = step / 2
    return x


torch.manual_seed(2)
points = torch.randn(32, 6, device=DEVICE)
targets = torch.rand(32, 6, device=DEVICE)
for sweep in range(3):
    points = vmap(search)(points, targets)
    print(sweep, loss(points, targets).item())

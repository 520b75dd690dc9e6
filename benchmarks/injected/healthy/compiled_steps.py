"""A compiled step over transforms."""

import torch
from torch.func import grad, vmap


def loss(w, x, y):
    return ((torch.tanh(x @ w) - y) ** 2).mean()


@torch.compile(backend="eager")
def step(w, x, y):
    return w - 0.1 * grad(loss)(w, x, y)


torch.manual_seed(5)
w, x, y = torch.randn(3), torch.randn(8, 3), torch.randn(8)
first = loss(w, x, y)
for _ in range(5):
    w = step(w, x, y)
per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(w, x, y)
assert loss(w, x, y) < first
print(float(first), float(loss(w, x, y)), per_sample.shape)

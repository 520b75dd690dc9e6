"""A compiled per-sample gradient norm with a logging line left in it."""

import torch
from torch.func import grad, vmap


def loss(weights, x, y):
    hidden = torch.tanh(x @ weights["first"])
    out = hidden @ weights["second"]
    error = (out - y).pow(2).sum()
    if error.item() > 1e6:
        print("diverged", error)
    return error


torch.manual_seed(0)
weights = {"first": torch.randn(3, 8) * 0.1, "second": torch.randn(8, 2) * 0.1}
x, y = torch.randn(16, 3), torch.randn(16, 2)


@torch.compile(backend="eager", fullgraph=True)
def norms(w, x, y):
    grads = vmap(grad(loss), in_dims=(None, 0, 0))(w, x, y)
    return sum(g.flatten(1).pow(2).sum(1) for g in grads.values()).sqrt()


print(norms(weights, x, y))

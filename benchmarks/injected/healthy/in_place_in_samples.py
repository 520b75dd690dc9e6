"""In-place updates of what a sample owns, under vmap and under grad."""

import torch
from torch.func import grad, jacrev, vmap


def running(x):
    out = x.clone()
    for i in range(1, x.shape[0]):
        out[i] += 0.5 * out[i - 1]
    out.mul_(2).add_(1)
    return out


x = torch.linspace(-1, 1, 12).reshape(3, 4)
batched = vmap(running)(x)
torch.testing.assert_close(batched, torch.stack([running(row) for row in x]))
matrix = jacrev(running)(x[0])
slope = grad(lambda v: running(v).sum())(x[0])
torch.testing.assert_close(matrix.sum(0), slope)
print(batched.sum().item(), slope.tolist())

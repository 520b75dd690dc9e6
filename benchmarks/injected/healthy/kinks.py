"""Derivatives at kinks, where every convention is right as long as it is the same in both modes."""

import torch
from torch.func import grad, jacfwd, jacrev, jvp, vmap

points = torch.tensor([-1.0, 0.0, 0.0, 2.0])
for function in (torch.relu, torch.abs, torch.nn.functional.hardtanh, lambda v: v.clamp(min=0), torch.sign):
    torch.testing.assert_close(jacfwd(function)(points), jacrev(function)(points))
slopes = vmap(grad(lambda v: torch.maximum(v, torch.zeros(())) ** 2))(points)
_, moved = jvp(lambda v: torch.nn.functional.leaky_relu(v).sum(), (points,), (torch.ones(4),))
print(slopes.tolist(), moved.item())

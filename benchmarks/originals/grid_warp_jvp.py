"""How an image warp answers to its control points, by forward mode."""

import torch
import torch.nn.functional as F
from torch.func import jvp


def warp(points, volume):
    theta = torch.eye(3, 4)[None] + 0.05 * points.reshape(1, 3, 4)
    grid = F.affine_grid(theta, volume.shape, align_corners=False)
    warped = F.grid_sample(volume, grid, mode="bilinear", padding_mode="border", align_corners=False)
    return warped.flatten(1).mean(1)


torch.manual_seed(4)
volume = torch.rand(1, 1, 4, 5, 6)
points, direction = torch.zeros(12), torch.randn(12)
value, tangent = jvp(lambda p: warp(p, volume), (points,), (direction,))
print(value, tangent)

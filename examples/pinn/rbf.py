"""A radial-basis network on the unit square, and the points it is trained on."""

import torch
from torch import nn


class RBFNetwork(nn.Module):
    """u(x, y) = sum_k w_k phi(|x - c_k| / s_k), with centres, widths and weights to be learned."""

    def __init__(self, centres=48, dimensions=2, hidden=16):
        super().__init__()
        self.centres = nn.Parameter(torch.rand(centres, dimensions))
        self.log_widths = nn.Parameter(torch.full((centres,), -1.5))
        self.mix = nn.Sequential(nn.Linear(centres, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, points):
        distances = torch.cdist(points.unsqueeze(0), self.centres.unsqueeze(0)).squeeze(0)
        features = torch.exp(-((distances / self.log_widths.exp()) ** 2))
        return self.mix(features).squeeze(-1)


def interior(count, generator):
    """Points inside the square."""
    return torch.rand(count, 2, generator=generator) * 0.98 + 0.01


def boundary(count, generator):
    """Points on its four edges, as many on each."""
    edges = []
    for axis in (0, 1):
        for value in (0.0, 1.0):
            points = torch.rand(count // 4, 2, generator=generator)
            points[:, axis] = value
            edges.append(points)
    return torch.cat(edges)

"""Directional derivatives of a small model in two threads: forward AD's levels are shared, and at times they race."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn
from torch.func import functional_call, jvp

WIDTH, POINTS = 8, 5


class Decay(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.rate = nn.Parameter(torch.full((width,), 0.5))

    def forward(self, x):
        return torch.exp(-self.rate * self.inner(x).square()).sum(-1)


def slope(model, x, direction):
    parameters = dict(model.named_parameters())
    value, change = jvp(lambda point: functional_call(model, parameters, (point,)), (x,), (direction,))
    return change.mean() / value.mean()


def main():
    torch.manual_seed(0)
    model = Decay(WIDTH)
    x = torch.randn(POINTS, WIDTH)
    directions = torch.randn(16, POINTS, WIDTH)
    with ThreadPoolExecutor(2) as pool:
        slopes = list(pool.map(lambda direction: slope(model, x, direction), directions))
    for number, found in enumerate(slopes):
        print(f"direction {number}: {found.item():.4f}")


if __name__ == "__main__":
    main()

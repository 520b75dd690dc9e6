"""Robust per-sample gradients on a batch that is drawn anew in every run: only a batch with outliers fails."""

import numpy
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

BATCH, FEATURES = 6, 4


def draw(batch=BATCH, features=FEATURES):
    generator = numpy.random.default_rng()
    data = generator.standard_normal((batch, features)).astype("float32")
    target = generator.standard_normal(batch).astype("float32")
    return torch.from_numpy(data), torch.from_numpy(target)


class Regressor(nn.Module):
    def __init__(self, width=5):
        super().__init__()
        self.first = nn.Linear(FEATURES, width)
        self.second = nn.Linear(width, 1)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x))).squeeze(-1)


def scale_down(x, limit):
    weights = torch.ones(FEATURES)
    weights.mul_(limit / x.abs().clamp(min=limit))
    return x * weights


def loss(parameters, model, x, y, outliers):
    if outliers:
        x = scale_down(x, 1.0)
    return (functional_call(model, parameters, (x,)) - y).square()


def main():
    torch.manual_seed(0)
    model = Regressor()
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    for step in range(2):
        x, y = draw()
        outliers = bool((x.abs() > 2.6).any())
        print("step", step, "outliers:", outliers)
        gradients = vmap(grad(loss), in_dims=(None, None, 0, 0, None))(parameters, model, x, y, outliers)
        parameters = {name: p - 0.1 * gradients[name].mean(0) for name, p in parameters.items()}
    print({name: round(p.norm().item(), 3) for name, p in parameters.items()})


if __name__ == "__main__":
    main()

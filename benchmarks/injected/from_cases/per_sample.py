"""Per-sample gradients of a small residual network, against a loop with plain autograd."""

import math

import torch
from torch import nn
from torch.func import functional_call, grad, jvp, vmap

torch.manual_seed(1234)


class Config:
    def __init__(self, width: int = 8, depth: int = 2, batch: int = 5):
        self.width = width
        self.depth = depth
        self.batch = batch


class Block(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.lin1 = nn.Linear(cfg.width, cfg.width)
        self.lin2 = nn.Linear(cfg.width, cfg.width)
        self.scale = nn.Parameter(torch.ones(cfg.width))

    def forward(self, x):
        h = torch.tanh(self.lin1(x))
        h = self.lin2(h) * self.scale
        return x + h


def normalise(x, eps: float = 1e-6):
    mean = x.mean()
    var = ((x - mean) ** 2).mean()
    return (x - mean) / torch.sqrt(var + eps)


def loss_fn(params, model, x, y):
    out = functional_call(model, params, (x,))
    out = normalise(out)
    return ((out - y) ** 2).sum()


def per_sample(model, xs, ys):
    params = {k: v.detach() for k, v in model.named_parameters()}
    g = grad(loss_fn)
    return vmap(lambda x, y: g(params, model, x, y))(xs, ys)


def one_by_one(model, xs, ys):
    names, params = zip(*model.named_parameters())
    rows = []
    for x, y in zip(xs, ys):
        loss = ((normalise(model(x)) - y) ** 2).sum()
        rows.append(torch.autograd.grad(loss, params))
    return {name: torch.stack(column) for name, column in zip(names, zip(*rows))}


def report(result):
    total = 0.0
    for name, value in result.items():
        total += value.abs().sum().item()
        print(f"{name}: {tuple(value.shape)}")
    return math.sqrt(total)


def main():
    cfg = Config()
    model = nn.Sequential(*[Block(cfg) for _ in range(cfg.depth)])
    xs = torch.randn(cfg.batch, cfg.width)
    ys = torch.randn(cfg.batch, cfg.width)
    with torch.no_grad():
        base = model(xs).mean().item()
    print("base", base)
    tangents = torch.ones_like(xs)
    _, t = jvp(lambda z: (z * z).sum(), (xs,), (tangents,))
    result = per_sample(model, xs, ys)
    print(report(result), t)
    for name, expected in one_by_one(model, xs, ys).items():
        torch.testing.assert_close(
            result[name], expected, rtol=1e-4, atol=1e-5, msg=lambda text, name=name: name + text
        )


if __name__ == "__main__":
    main()

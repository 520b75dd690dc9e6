"""Per-sample gradients with clipping; fails because the clip looks at the data under vmap."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, width=6, classes=3):
        super().__init__()
        self.first = nn.Linear(4, width)
        self.second = nn.Linear(width, classes)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def centre(x, eps=1e-6):
    mean = x.mean()
    return (x - mean) / torch.sqrt(((x - mean) ** 2).mean() + eps)


def clip(gradient, limit):
    norm = gradient.norm()
    if norm > limit:
        return gradient * (limit / norm)
    return gradient


def loss(params, net, x, y):
    scores = centre(functional_call(net, params, (x,)))
    return -(torch.log_softmax(scores, 0) * y).sum()


def clipped(net, xs, ys, limit=1.0):
    params = {name: p.detach() for name, p in net.named_parameters()}

    def one(x, y):
        gradients = grad(loss)(params, net, x, y)
        return {name: clip(g, limit) for name, g in gradients.items()}

    return vmap(one)(xs, ys)


net = Net()
xs, ys = torch.randn(5, 4), torch.eye(3)[[0, 1, 2, 0, 1]]
for name, g in clipped(net, xs, ys).items():
    print(name, tuple(g.shape), g.mean(0).norm().item())

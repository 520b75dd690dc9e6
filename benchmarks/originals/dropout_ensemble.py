"""Monte-Carlo dropout: the predictions of an ensemble of thinned networks."""

import torch
from torch import nn
from torch.func import functional_call, stack_module_state


def build(width=32, rate=0.2):
    return nn.Sequential(nn.Linear(4, width), nn.GELU(), nn.Dropout(rate), nn.Linear(width, 1))


torch.manual_seed(0)
members = [build() for _ in range(5)]
params, buffers = stack_module_state(members)
base = build().to("meta")


def predict(p, b, x):
    return functional_call(base, (p, b), (x,)).squeeze(-1)


x = torch.linspace(-1, 1, 40).reshape(10, 4)
predictions = torch.vmap(predict, in_dims=(0, 0, None))(params, buffers, x)
print("mean", predictions.mean(0), "spread", predictions.std(0))

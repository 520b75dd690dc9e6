"""Per-sample gradients of a classifier whose normalisation constants were never moved to the device."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap


class Normalise(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.mean = torch.linspace(-0.5, 0.5, channels)
        self.scale = torch.full((channels,), 0.25)

    def forward(self, x):
        return (x - self.mean) / self.scale


torch.manual_seed(3)
model = nn.Sequential(Normalise(8), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to("cuda")
parameters = {name: value.detach() for name, value in model.named_parameters()}
inputs = torch.randn(12, 8, device="cuda")
labels = torch.randint(0, 4, (12,), device="cuda")


def loss(parameters, x, label):
    logits = functional_call(model, parameters, (x.unsqueeze(0),))
    return nn.functional.cross_entropy(logits, label.unsqueeze(0))


gradients = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, inputs, labels)
print({name: value.shape for name, value in gradients.items()})

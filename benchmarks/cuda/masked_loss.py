"""Per-sample loss over the valid entries only, by boolean indexing."""

import torch
from torch.func import grad, vmap


def masked_mean(prediction, target, mask):
    error = (prediction - target).abs()
    return error[mask].mean()


def step(weights, features, target, mask):
    return masked_mean(features @ weights, target, mask)


torch.manual_seed(5)
with torch.device("cuda"):
    weights = torch.randn(5)
    features = torch.randn(16, 10, 5)
    targets = torch.randn(16, 10)
    masks = torch.rand(16, 10) > 0.3

per_sample = vmap(grad(step), in_dims=(None, 0, 0, 0))(weights, features, targets, masks)
print("largest gradient", per_sample.abs().max().item())

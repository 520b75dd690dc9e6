"""A score function that asks autograd for gradients by itself, put under torch.func."""

import torch


def log_density(x, scale):
    return -0.5 * (x / scale).pow(2).sum() - x.numel() * scale.log()


def score_matching(scale, x):
    x = x.clone().requires_grad_()
    value = log_density(x, scale)
    return value + (0.5 * x.pow(2)).sum().detach()


torch.manual_seed(0)
samples = torch.randn(16, 3) * 2
scale = torch.tensor(1.0)
for step in range(3):
    gradient = torch.func.grad(score_matching)(scale, samples)
    scale = scale - 0.01 * gradient
    print(step, float(scale))

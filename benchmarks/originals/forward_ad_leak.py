"""Sensitivities by dual numbers, of a model that itself uses dual numbers for its velocity field."""

import torch
import torch.autograd.forward_ad as fwAD


def field(x):
    return torch.sin(x) * torch.exp(-0.1 * x**2)


def divergence(x):
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, torch.ones_like(x))
        return fwAD.unpack_dual(field(dual)).tangent


def density(x, steps=4, dt=0.1):
    log_p = torch.zeros_like(x)
    for _ in range(steps):
        log_p = log_p - dt * divergence(x)
        x = x + dt * field(x)
    return log_p


start = torch.linspace(-1, 1, 5)
with fwAD.dual_level():
    dual = fwAD.make_dual(start, torch.ones_like(start))
    score = fwAD.unpack_dual(density(dual)).tangent
print(score)

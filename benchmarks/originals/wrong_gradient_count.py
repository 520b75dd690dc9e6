"""Per-sample gradients through a fused scale-and-shift with one gradient too few."""

import torch
from torch.func import grad, vmap


class ScaleShift(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, scale, shift):
        return x * scale + shift

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, scale, _ = inputs
        ctx.save_for_backward(x, scale)

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return g * scale, (g * x).sum()


def loss(scale, x, y):
    out = ScaleShift.apply(x, scale, torch.zeros_like(x))
    return torch.nn.functional.smooth_l1_loss(out, y)


torch.manual_seed(0)
x, y = torch.randn(8, 3), torch.randn(8, 3)
print(vmap(grad(loss), in_dims=(None, 0, 0))(torch.tensor(2.0), x, y))

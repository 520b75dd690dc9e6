"""A penalty that hands its slack on beside its value and saves it as an output; its curvature is checked by hand."""

import torch
from torch.func import grad


class CubicPenalty(torch.autograd.Function):
    @staticmethod
    def forward(slack):
        return slack**3, slack

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        _, slack = outputs
        ctx.save_for_backward(slack)

    @staticmethod
    def backward(ctx, grad_value, grad_slack):
        (slack,) = ctx.saved_tensors
        return grad_value * 3 * slack**2


def penalty(x, weight=1.0):
    value, _ = CubicPenalty.apply(x * 1.0)
    return weight * value


x = torch.tensor(1.0)
first = grad(penalty)(x)
second = grad(grad(penalty))(x)
print("slope", first, "curvature", second)
torch.testing.assert_close(first, torch.tensor(3.0))
torch.testing.assert_close(second, torch.tensor(6.0))

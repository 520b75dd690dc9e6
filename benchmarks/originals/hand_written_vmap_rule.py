"""A custom rounding with a vmap rule of its own, which forgets to say where the batch is."""

import torch


class Round(torch.autograd.Function):
    @staticmethod
    def forward(x, digits):
        return (x * 10**digits).round() / 10**digits

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.digits = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g, None

    @staticmethod
    def vmap(info, in_dims, x, digits):
        return Round.apply(x, digits)


def price(amount, rate):
    return Round.apply(amount * (1 + rate), 2)


amounts = torch.tensor([9.99, 120.5, 3.333])
print(torch.vmap(price, in_dims=(0, None))(amounts, torch.tensor(0.19)))

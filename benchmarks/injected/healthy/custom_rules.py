"""An autograd.Function with rules for every mode, all of them right."""

import torch
from torch.func import grad, jacfwd, jacrev, vmap


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x**2

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * t * x**2


x = torch.linspace(-1, 2, 6).reshape(2, 3)
torch.testing.assert_close(jacfwd(Cube.apply)(x[0]), jacrev(Cube.apply)(x[0]))
torch.testing.assert_close(vmap(grad(lambda v: Cube.apply(v).sum()))(x), 3 * x**2)
print(vmap(Cube.apply, out_dims=1)(x))

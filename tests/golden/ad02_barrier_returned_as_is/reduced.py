import torch


class Barrier(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        ctx.save_for_backward(outputs)


torch.func.vjp(Barrier.apply, torch.zeros(1))

import torch


class Compress(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty()

    @staticmethod
    def jvp(ctx, x):
        x.mul_(0)


x = torch.tensor(0.0)
torch.func.jvp(Compress.apply, (x,), (x,))

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "An in-place jvp staticmethod on a tangent that mark_dirty made is taken for a captured tensor"
# failure = "RuntimeError: During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation (aten::mul_.Tensor) that would mutate a captured Tensor, raised in the program's own code, in a custom autograd.Function, under jvp"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/91280"
# program = "sha256:7f60845d397b89d06f6dfff6f756b20a883a324684ce9d596198f13d95240db2"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation (aten::mul_.Tensor) that would mutate a captured Tensor"
# levels = ["jvp", "function"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad01_markdirty_inplace_tangent.py"
# tokens-before = 1037
# tokens-after = 85
# queries = 247
# ///

import torch


class Compress(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(*inputs)

    @staticmethod
    def jvp(ctx, x):
        x.mul_(0)


x = torch.tensor(0.0)
torch.func.jvp(Compress.apply, (x,), (x,))

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "A Function that returns its input as it is and saves it through outputs raises"
# failure = "RuntimeError: An input that has been returned as-is as output is being saved for backward, raised in the program's own code, in a custom autograd.Function, under grad"
# expected = "fails"
# match = "signature"
# control = "none"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/96887"
# program = "sha256:731ab01ad5e6a7b518a58c70dd2c4f04548fc7a768beb65ac611d40c3ae8a070"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "An input that has been returned as-is as output is being saved for backward"
# levels = ["grad", "function"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad02_barrier_returned_as_is.py"
# tokens-before = 532
# tokens-after = 57
# queries = 120
#
# [[tool.shrinkrepro.on]]
# torch = "==2.0.1"
# status = "fixed"
# ///

import torch


class Barrier(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        ctx.save_for_backward(outputs)


torch.func.vjp(Barrier.apply, torch.zeros(1))

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "The second derivative through a Function that returns its input was silently 0 instead of 6; now it raises"
# failure = "AssertionError: Scalars are not close, by torch.testing"
# expected = "fails"
# match = "signature"
# control = "reference"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/96887"
# program = "sha256:1a43881514b9514d9653378dcc6d4cf450736a4bdee31fffc985e81a5a05df95"
#
# [tool.shrinkrepro.signature]
# kind = "mismatch"
# type = "AssertionError"
# sentence = "Scalars are not close"
#
# [tool.shrinkrepro.first-seen]
# torch = "2.0.1+cu117"
# python = "3.10.13"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "recorded_slack.py"
# tokens-before = 179
# tokens-after = 120
# queries = 491
#
# [[tool.shrinkrepro.on]]
# torch = ">=2.13.0"
# status = "changed"
# failure = "RuntimeError: An input that has been returned as-is as output is being saved for backward, raised in the program's own code, in a custom autograd.Function, under grad of grad"
# ///

import torch
from torch.func import grad


class Penalty(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x, x

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        ctx.save_for_backward(outputs[1])

    @staticmethod
    def backward(ctx, x, y):
        return x * 3 * ctx.saved_tensors[0] ** 2


torch.testing.assert_close(
    grad(grad(lambda x, y=0: Penalty.apply(x)[0]))(torch.tensor(1.0)), torch.tensor(6.0)
)

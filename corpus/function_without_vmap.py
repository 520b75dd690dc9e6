# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "A custom Function without a vmap staticmethod"
# failure = "RuntimeError: You tried to vmap over <name>, but it does not have vmap support, raised in the program's own code, in a custom autograd.Function, under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented contract of autograd.Function"
# program = "sha256:2405ba7518b24d4db080d676e89c821dc1a0bc59c52c9d8ff4d466214515d527"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "You tried to vmap over <name>, but it does not have vmap support"
# levels = ["vmap", "function"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "straight_through_vmap.py"
# tokens-before = 216
# tokens-after = 51
# queries = 124
# ///

import torch


class Quantise(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


torch.vmap(Quantise.apply)(torch.zeros(1))

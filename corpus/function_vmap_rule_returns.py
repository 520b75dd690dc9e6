# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "A vmap staticmethod that does not say where the batch is"
# failure = "RuntimeError: Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output, raised in the program's own code, in a custom autograd.Function, under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented contract of autograd.Function"
# program = "sha256:5027f0025d09d88224ed5f8abb2f305d10b1e41e583f67dcc0586658fa3798b8"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output"
# levels = ["vmap", "function"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "hand_written_vmap_rule.py"
# tokens-before = 160
# tokens-after = 76
# queries = 148
# ///

import torch


class Round(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(y, z, x, w):
        pass


torch.vmap(lambda x: Round.apply(x, 0))(torch.zeros(1))

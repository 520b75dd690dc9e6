# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "hessian of a custom Function without a jvp staticmethod"
# failure = "NotImplementedError: You must implement the jvp function for custom autograd.Function to use it with forward mode AD, raised in jvp (torch/autograd/function.py), in a custom autograd.Function, under vmap of jvp"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "pytorch-finufft#110"
# program = "sha256:a3df5d3ad184caaba5be68531e41bf275b71d918958c06f38800b22215bdabe3"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "NotImplementedError"
# sentence = "You must implement the jvp function for custom autograd.Function to use it with forward mode AD"
# where = {file = "torch/autograd/function.py", function = "jvp"}
# levels = ["vmap", "jvp", "function"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad24_nufft_hessian_missing_jvp.py"
# tokens-before = 753
# tokens-after = 56
# queries = 114
# ///

import torch


class DFT(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


torch.func.jacfwd(DFT.apply)(torch.zeros(1))

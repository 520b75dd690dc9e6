# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "In-place arithmetic of an unbatched tensor with a batched one"
# failure = "RuntimeError: vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`, raised in the program's own code, under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/103329"
# program = "sha256:01942e018bb03d446f0dfb0f49d671690e01b333e995ad3db1886eff45faa01e"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`"
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "vmap08_inplace_spline.py"
# tokens-before = 729
# tokens-after = 23
# queries = 57
# ///

import torch

torch.vmap(torch.tensor(0).copy_)(torch.zeros(1))

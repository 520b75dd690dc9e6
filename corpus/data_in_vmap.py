# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = ".data of a batched tensor"
# failure = "RuntimeError: accessing `data` under vmap transform is not allowed, raised in the program's own code, under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented limit of vmap"
# program = "sha256:53834a8d5c47a08dff62bf7ee4c13336f469d2b35a2774e149f9d91a746301fd"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "accessing `data` under vmap transform is not allowed"
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "detached_gate.py"
# tokens-before = 108
# tokens-after = 27
# queries = 142
# ///

import torch


def f(x):
    x.data
    return x


torch.vmap(f)(torch.zeros(1))

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Data-dependent control flow under vmap of grad"
# failure = "RuntimeError: vmap: It looks like you're either calling .item() on a Tensor or attempting to use a Tensor in some data-dependent control flow or encountering this error in PyTorch internals, raised in the program's own code, under vmap of grad"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "shrinkrepro's own"
# program = "sha256:7fa059626b2fa204fbd016c84a84b0187b05a7b45a491b2100fe64f346bbdd80"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "vmap: It looks like you're either calling .item() on a Tensor or attempting to use a Tensor in some data-dependent control flow or encountering this error in PyTorch internals"
# levels = ["vmap", "grad"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "vmap00_per_sample_normaliser.py"
# tokens-before = 574
# tokens-after = 23
# queries = 65
# ///

import torch

torch.vmap(torch.func.grad(bool))(torch.zeros(1))

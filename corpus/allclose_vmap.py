# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "torch.allclose under vmap"
# failure = "RuntimeError: vmap over torch.allclose isn't supported yet, raised in the program's own code, under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented limit of vmap"
# program = "sha256:66e859d89b683b4c7d6ffbbe3a52cbc16432330b96fc5be4522636f151647e9e"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "vmap over torch.allclose isn't supported yet"
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "stopping_test.py"
# tokens-before = 151
# tokens-after = 31
# queries = 68
# ///

import torch

torch.vmap(lambda x: torch.allclose(x, torch.tensor(0.0)))(torch.zeros(1))

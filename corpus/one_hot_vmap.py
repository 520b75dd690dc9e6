# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "one_hot without num_classes under vmap"
# failure = "RuntimeError: When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument, raised in the program's own code, under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented limit of vmap"
# program = "sha256:04a8e7dc84131b451bf204f0fdd7003fce9ba1349d34ca6a7d325aa0d1360771"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument"
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "class_weights_one_hot.py"
# tokens-before = 174
# tokens-after = 26
# queries = 56
# ///

import torch

torch.vmap(torch.nn.functional.one_hot)(torch.zeros(1, dtype=int))

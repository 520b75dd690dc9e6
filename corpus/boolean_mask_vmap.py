# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Indexing with a boolean mask under vmap"
# failure = "RuntimeError: vmap: We do not support batching operators that can support dynamic shape, raised in the program's own code, under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented limit of vmap"
# program = "sha256:21c09e3853dd494dbe6795e925cb4ecc5105f515ef58888296f1eb0b3d9f4b21"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "vmap: We do not support batching operators that can support dynamic shape"
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "masked_statistics.py"
# tokens-before = 185
# tokens-after = 28
# queries = 209
#
# [[tool.shrinkrepro.on]]
# torch = "==2.0.1"
# status = "changed"
# failure = "RuntimeError: vmap: It looks like you're calling .item() on a Tensor, raised in the program's own code, under vmap"
# ///

import torch

torch.vmap(lambda x, y=0: x[x != 0])(torch.zeros(1))

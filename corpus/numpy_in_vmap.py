# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = ".numpy() of a batched tensor"
# failure = "RuntimeError: Cannot access data pointer of Tensor that doesn't have storage, raised in the program's own code, under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented limit of vmap"
# program = "sha256:2ff939efe1aa662278213791c9ebf640a5e4ac4027246d27474fe53cc3f1dcc9"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "Cannot access data pointer of Tensor that doesn't have storage"
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "numpy_metric.py"
# tokens-before = 217
# tokens-after = 23
# queries = 57
# ///

import torch

torch.vmap(lambda x: x.numpy())(torch.zeros(1))

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "A sparse product under vmap warns of a missing batching rule"
# failure = "output: /performance drop/"
# expected = "fails"
# match = "/performance drop/"
# control = "primal-strict"
# device = "cpu"
# origin = "a missing batching rule"
# program = "sha256:4a1e00501a9f9a1fcc9a387ad6a789aca6d88fbbe3d69b04c8cd6172692441c2"
#
# [tool.shrinkrepro.signature]
# kind = "warning"
# type = "output"
# sentence = "/performance drop/"
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "sparse_features.py"
# tokens-before = 125
# tokens-after = 40
# queries = 249
# ///

import torch

torch.vmap(lambda x: torch.sparse.mm(torch.zeros(1, 1), x[None]))(torch.zeros(1, 1))

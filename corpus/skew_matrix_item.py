# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "A matrix put together from a batched tensor's entries calls .item()"
# failure = "RuntimeError: vmap: It looks like you're calling .item() on a Tensor, raised in the program's own code, under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/102109"
# program = "sha256:3961b7368280a7cf4712bfd7c4b39bdedf361eebd473a42ba425f99eff86f85f"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "vmap: It looks like you're calling .item() on a Tensor"
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "main.py"
# tokens-before = 731
# tokens-after = 26
# queries = 160
# ///

import torch

torch.vmap(lambda x: torch.tensor([x]))(torch.zeros(1))

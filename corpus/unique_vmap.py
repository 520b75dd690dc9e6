# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "unique under vmap: a dynamic shape"
# failure = "RuntimeError: vmap: We do not support batching operators that can output dynamic shape: aten::_unique2, raised in _unique_impl (torch/functional.py), under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented limit of vmap"
# program = "sha256:0d64499a2256c97e509591387c5755d3ed9bf24464c0787d247cc49a36df2b6a"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "vmap: We do not support batching operators that can output dynamic shape: aten::_unique2"
# where = {file = "torch/functional.py", function = "_unique_impl"}
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "event_unique.py"
# tokens-before = 135
# tokens-after = 18
# queries = 53
# ///

import torch

torch.vmap(torch.unique)(torch.zeros(1))

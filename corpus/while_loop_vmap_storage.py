# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "while_loop under vmap: no storage"
# failure = "NotImplementedError: Cannot access storage of BatchedTensorImpl, raised in _typed_storage (torch/_tensor.py), under vmap of compile"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/175522"
# program = "sha256:e4aa8fdeb0972d3453de49bcf46ef1f9fb0950268848814008ec7f520f251f18"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "NotImplementedError"
# sentence = "Cannot access storage of BatchedTensorImpl"
# where = {file = "torch/_tensor.py", function = "_typed_storage"}
# levels = ["vmap", "compile"]
# tracer_broke = true
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "vmap11_while_loop_ik.py"
# tokens-before = 751
# tokens-after = 55
# queries = 293
#
# [[tool.shrinkrepro.on]]
# torch = "==2.0.1"
# status = "unsupported"
# ///

import torch

torch.vmap(
    lambda x: torch.while_loop(
        lambda x, q: x < 0, lambda x, q: (x, torch.zeros(1)), (0, x)
    )
)(torch.zeros(1, 1))

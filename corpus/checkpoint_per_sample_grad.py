# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Checkpointing under grad: saved tensor hooks"
# failure = "RuntimeError: torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks, raised in __enter__ (torch/autograd/graph.py), under grad"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/165880"
# program = "sha256:e141f4a8b06a77b173fa81fa273006984ec5462aeb4bb23b593dc56cb39c97dc"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks"
# where = {file = "torch/autograd/graph.py", function = "__enter__"}
# levels = ["grad"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "vmap05_ckpt_per_sample.py"
# tokens-before = 2068
# tokens-after = 38
# queries = 144
#
# [[tool.shrinkrepro.on]]
# torch = "==2.0.1"
# status = "unsupported"
# ///

import torch

torch.func.vjp(
    lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False),
    torch.zeros(1),
)

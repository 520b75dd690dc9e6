# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "layer_norm's batching rule loses autocast's dtype"
# failure = "RuntimeError: expected scalar type BFloat16 but found Float, raised in _engine_run_backward (torch/autograd/graph.py), under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/184890"
# program = "sha256:2a1ceb4973ecd0174bc5b5da57ac47fc5378937e4598482a39900fb239b3fa7e"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "expected scalar type BFloat16 but found Float"
# where = {file = "torch/autograd/graph.py", function = "_engine_run_backward"}
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "vmap06_amp_jacobian.py"
# tokens-before = 807
# tokens-after = 128
# queries = 825
# ///

import torch


def f():
    a, b, c = outputs
    return torch.stack([a.sum(), b.sum(), c.sum()])


model = torch.nn.Linear(1, 1)
with torch.autocast("cpu"):
    outputs = [torch.nn.LayerNorm(1)(model(torch.zeros(1))) for h in (0, 0, 0)]
torch.vmap(lambda v: torch.autograd.grad(f(), model.parameters(), v))(torch.zeros(1, 3))

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "autograd.grad inside jacfwd does not see the input"
# failure = "RuntimeError: element <n> of tensors does not require grad and does not have a grad_fn, raised in _engine_run_backward (torch/autograd/graph.py), under vmap of jvp"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/158610"
# program = "sha256:f62c41f3e056aaceae596ff76cc28ec3ece3ce1824aeab8a9184c4c9b9484137"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "element <n> of tensors does not require grad and does not have a grad_fn"
# where = {file = "torch/autograd/graph.py", function = "_engine_run_backward"}
# levels = ["vmap", "jvp"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad23_force_field_autograd_inside_jacfwd.py"
# tokens-before = 917
# tokens-after = 34
# queries = 672
# ///

import torch

torch.func.jacfwd(lambda x: torch.autograd.grad(x, x))(
    torch.zeros(1, requires_grad=True)
)

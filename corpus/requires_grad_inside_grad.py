# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "requires_grad_ inside a function under grad"
# failure = "RuntimeError: You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a function being transformed by a functorch transform, raised in the program's own code, under grad"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented limit of torch.func"
# program = "sha256:d54ca7bf5fd0b4257ab68bc1fa0dc2739b5b3184df826c251efee819683d50c7"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a function being transformed by a functorch transform"
# levels = ["grad"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "score_inside_grad.py"
# tokens-before = 154
# tokens-after = 24
# queries = 73
# ///

import torch

torch.func.vjp(lambda x: x.requires_grad_(), torch.tensor(0.0))

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Batch norm's running statistics are captured tensors under a transform"
# failure = "RuntimeError: During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation (aten::add_.Tensor) that would mutate a captured Tensor, raised in forward (torch/nn/modules/batchnorm.py), under jvp"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/85533"
# program = "sha256:f0441a2c6480410c00122f80fc5e6056a59829257f2d7713704d10161d2400d5"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation (aten::add_.Tensor) that would mutate a captured Tensor"
# where = {file = "torch/nn/modules/batchnorm.py", function = "forward"}
# levels = ["jvp"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad03_hutchinson_batchnorm.py"
# tokens-before = 1987
# tokens-after = 41
# queries = 149
# ///

import torch

x = torch.zeros(1, 2, 1, 2)
torch.func.jvp(torch.nn.BatchNorm2d(2), (x,), (x,))

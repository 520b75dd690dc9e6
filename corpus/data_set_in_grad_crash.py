# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Setting .data inside grad frees a wrapper that is still used"
# failure = "RuntimeError: tensor does not have a device, raised in embedding (torch/nn/functional.py), under grad"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/184876"
# program = "sha256:e7c39cd509c46b9a04ed2e4c1cb684d24b237b3bacebb97c304082e69db19894"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "tensor does not have a device"
# where = {file = "torch/nn/functional.py", function = "embedding"}
# levels = ["grad"]
#
# [[tool.shrinkrepro.faces]]
# kind = "crash"
# where = {file = "torch/nn/functional.py", function = "embedding"}
# levels = ["grad"]
# signal = 11
# crash_frames = ["torch/nn/functional.py:embedding", "torch/nn/modules/sparse.py:forward"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad16_flat_parameters_segfault.py"
# tokens-before = 688
# tokens-after = 65
# queries = 572
# ///

import torch

model = torch.nn.Embedding(1, 0)


def loss(x):
    torch.nn.utils.vector_to_parameters(x, model.parameters())
    return model(torch.zeros(1, dtype=int))


torch.func.vjp(loss, torch.zeros(1))

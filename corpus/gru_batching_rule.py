# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "vmap over a GRU: no batching rule for gru.input"
# failure = "RuntimeError: Batching rule not implemented for aten::gru.input, raised in forward (torch/nn/modules/rnn.py), under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/134606"
# program = "sha256:d273dc7546c054c08237a9ac2451848f7bd1dd7a2dbbae04d46793c147821d97"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "Batching rule not implemented for aten::gru.input"
# where = {file = "torch/nn/modules/rnn.py", function = "forward"}
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "vmap01_gru_ensemble_dynamics.py"
# tokens-before = 1947
# tokens-after = 29
# queries = 89
# ///

import torch

torch.vmap(torch.nn.GRU(1, 1))(torch.zeros(1, 1, 1))

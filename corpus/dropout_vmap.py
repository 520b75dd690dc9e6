# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Dropout under vmap without a randomness flag"
# failure = "RuntimeError: vmap: called random operation while in randomness error mode, raised in dropout (torch/nn/functional.py), under vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented limit of vmap"
# program = "sha256:a03d4fdce776f9361281375c5c927e51ec841c01b6a006f8101a55393142d9f4"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "vmap: called random operation while in randomness error mode"
# where = {file = "torch/nn/functional.py", function = "dropout"}
# levels = ["vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "dropout_ensemble.py"
# tokens-before = 198
# tokens-after = 22
# queries = 115
# ///

import torch

torch.vmap(torch.nn.Dropout())(torch.zeros(1))

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Forward mode through a three-dimensional grid_sample"
# failure = "NotImplementedError: Trying to use forward AD with grid_sampler_3d that does not support it because it has not been implemented yet, raised in grid_sample (torch/nn/functional.py), under jvp"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a missing formula"
# program = "sha256:887e3b1951312e0c0eaae929c0ace9ae047f8a3880d2d89605540540e1669474"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "NotImplementedError"
# sentence = "Trying to use forward AD with grid_sampler_3d that does not support it because it has not been implemented yet"
# where = {file = "torch/nn/functional.py", function = "grid_sample"}
# levels = ["jvp"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "grid_warp_jvp.py"
# tokens-before = 172
# tokens-after = 63
# queries = 279
# ///

import torch

x = torch.zeros(1, 1, 1, 1, 3)
torch.func.jvp(
    lambda x: torch.nn.functional.grid_sample(torch.zeros(1, 1, 1, 1, 1), x), (x,), (x,)
)

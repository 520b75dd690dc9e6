# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Forward mode through cdist"
# failure = "NotImplementedError: Trying to use forward AD with _euclidean_dist that does not support it because it has not been implemented yet, raised in cdist (torch/functional.py), under vmap of jvp"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a missing formula"
# program = "sha256:89d8173db2e408b2b084399d3620aedb8b2394a104fbdc5dbbfa8b30009370c5"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "NotImplementedError"
# sentence = "Trying to use forward AD with _euclidean_dist that does not support it because it has not been implemented yet"
# where = {file = "torch/functional.py", function = "cdist"}
# levels = ["vmap", "jvp"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "poisson.py"
# tokens-before = 865
# tokens-after = 37
# queries = 594
# ///

import torch

torch.func.jacfwd(lambda x: torch.cdist(x, torch.zeros(27, 1)))(torch.zeros(1, 1))

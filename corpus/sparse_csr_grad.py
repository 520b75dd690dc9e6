# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "grad over a sparse CSR tensor: no strides"
# failure = "RuntimeError: Sparse CSR tensors do not have strides, raised in the program's own code, under grad"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/136357"
# program = "sha256:0996fb3e70760a1ea3406c7192049a618d9831e6cbc54a72aa5734b4fd9f20f1"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "Sparse CSR tensors do not have strides"
# levels = ["grad"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad26_graph_filter_sparse_csr.py"
# tokens-before = 857
# tokens-after = 26
# queries = 106
# ///

import torch

torch.func.vjp(lambda x: x.to_sparse_csr(), torch.zeros(1, 1))

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Forward mode of svd into a view: an internal assert"
# failure = "RuntimeError: !this_view_meta->has_fw_view() INTERNAL ASSERT FAILED at autograd_meta.cpp, raised in the program's own code, under vmap of jvp"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/94111"
# program = "sha256:2b2dfe1f4828881bf384941b0b83b1f1b44b3c7065b88814961f92c02b3ad590"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "!this_view_meta->has_fw_view() INTERNAL ASSERT FAILED at autograd_meta.cpp"
# levels = ["vmap", "jvp"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad28_precoder_svd_internal_assert.py"
# tokens-before = 601
# tokens-after = 35
# queries = 88
#
# [[tool.shrinkrepro.on]]
# torch = "==2.0.1"
# status = "unsupported"
# ///

import torch

torch.autograd.functional.jacobian(
    torch.svd, torch.zeros(1, 1, dtype=complex), vectorize=True, strategy="forward-mode"
)

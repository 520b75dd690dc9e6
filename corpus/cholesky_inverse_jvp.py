# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Forward mode of cholesky_inverse is wrong"
# failure = "AssertionError: Tensor-likes are not close, by torch.testing"
# expected = "fails"
# match = "signature"
# control = "reference-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/196682"
# program = "sha256:b51acb1300efc54d96ba2821afb84c8f712927cd54ede6fee2213e9ffcb17af4"
#
# [tool.shrinkrepro.signature]
# kind = "mismatch"
# type = "AssertionError"
# sentence = "Tensor-likes are not close"
#
# [tool.shrinkrepro.difference]
# kind = "value"
# relative = 0.333
# noise = 2780000.0
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad07_cholesky_inverse_sensitivity.py"
# tokens-before = 379
# tokens-after = 89
# queries = 1099
# ///

import torch

torch.testing.assert_close(
    torch.func.jvp(
        torch.cholesky_inverse,
        (torch.tensor([[1, 0.0], [1, 1]]),),
        (torch.tensor([[1, 0.0], [1, 1]]),),
    )[1],
    torch.tensor([[-4, 2], [2, -2.0]]),
)

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "A script that catches the failure, prints a line and exits with 3"
# failure = "exit code 3 after \"solver: vmap: It looks like you're calling .item() on a Tensor\""
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "shrinkrepro's own"
# program = "sha256:86c7e1e8cf69757b8a75ca23d7bb308d5c2ea956f08ebe85e088f7ea5970409c"
#
# [tool.shrinkrepro.signature]
# kind = "exit"
# sentence = "solver: vmap: It looks like you're calling .item() on a Tensor"
# code = 3
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "solver_status.py"
# tokens-before = 219
# tokens-after = 44
# queries = 263
# ///

import sys

import torch


def main():
    try:
        torch.vmap(float)(torch.zeros(1))
    except RuntimeError as e:
        print(f"solver: {e}")
        return 3


sys.exit(main())

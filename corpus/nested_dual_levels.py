# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Dual numbers inside dual numbers"
# failure = "RuntimeError: Nested forward mode AD is not supported at the moment, raised in enter_dual_level (torch/autograd/forward_ad.py)"
# expected = "fails"
# match = "signature"
# control = "none"
# device = "cpu"
# origin = "a documented limit of forward_ad"
# program = "sha256:510340f4acf6f9441f39f527812b93aac15a7335970250012ce42dcd79332f9d"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "Nested forward mode AD is not supported at the moment"
# where = {file = "torch/autograd/forward_ad.py", function = "enter_dual_level"}
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "forward_ad_leak.py"
# tokens-before = 180
# tokens-after = 19
# queries = 91
# ///

from torch.autograd.forward_ad import dual_level

with dual_level():
    with dual_level():
        pass

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "vmap over autocast gives another dtype"
# failure = "AssertionError: The values for attribute 'dtype' do not match: torch.float32 != torch.bfloat16, by torch.testing"
# expected = "fails"
# match = "signature"
# control = "reference-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/192617"
# program = "sha256:00a9fab7341ee5801643a33ba645ffdf66a3cb57ba85ba20aed77560a4315758"
#
# [tool.shrinkrepro.signature]
# kind = "mismatch"
# type = "AssertionError"
# sentence = "The values for attribute 'dtype' do not match: torch.float32 != torch.bfloat16"
#
# [tool.shrinkrepro.difference]
# kind = "dtype"
# relative = 1.0
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "vmap17_autocast_experts.py"
# tokens-before = 455
# tokens-after = 93
# queries = 787
# ///

import torch

out = [torch.nn.Linear(1, 0)]
x = torch.zeros(1)
with torch.autocast("cpu"):
    y = torch.stack([out[0](x)])
with torch.autocast("cpu"):
    z = torch.vmap(lambda p: out[0](x))(torch.func.stack_module_state(out))
torch.testing.assert_close(z, y)

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "Forward mode through scaled_dot_product_attention on the CPU"
# failure = "NotImplementedError: Trying to use forward AD with _scaled_dot_product_flash_attention_for_cpu that does not support it because it has not been implemented yet, raised in the program's own code, under jvp"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "after the forward-mode reports of its CUDA twin"
# program = "sha256:7d0fd4696833a696614dc4c9fb28eaeaa1c6e5010bc37849508e85609df44a4e"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "NotImplementedError"
# sentence = "Trying to use forward AD with _scaled_dot_product_flash_attention_for_cpu that does not support it because it has not been implemented yet"
# levels = ["jvp"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "attention_curvature.py"
# tokens-before = 373
# tokens-after = 50
# queries = 122
#
# [[tool.shrinkrepro.on]]
# torch = "==2.0.1"
# status = "fixed"
# ///

import torch

x = torch.zeros(1, 1, 1, 1)
torch.func.jvp(
    lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x), (x,), (x,)
)

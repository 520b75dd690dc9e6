# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "A mask_mod with control flow inside create_block_mask's own vmap"
# failure = "RuntimeError: vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow, raised in code called by create_mask (torch/nn/attention/flex_attention.py), under vmap of vmap of vmap of vmap"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/meta-pytorch/attention-gym/issues/25"
# program = "sha256:013f353b7c1e16411ba62a940d378620f7c473265e99e74256498943ec3acb87"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow"
# where = {file = "torch/nn/attention/flex_attention.py", function = "create_mask", inside = false}
# levels = ["vmap", "vmap", "vmap", "vmap"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "vmap02_flex_window_mask.py"
# tokens-before = 883
# tokens-after = 35
# queries = 278
#
# [[tool.shrinkrepro.on]]
# torch = "==2.0.1"
# status = "unsupported"
# ///

from torch.nn.attention.flex_attention import create_mask

create_mask(lambda b, h, x, y: 0 <= x < 0, 0, 0, 0, 0)

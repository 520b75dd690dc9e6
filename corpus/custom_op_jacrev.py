# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "A custom_op with register_autograd under jacrev asks for a setup_context"
# failure = "RuntimeError: In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the setup_context staticmethod, raised in autograd_impl (torch/_library/autograd.py), under grad"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/179652"
# program = "sha256:71f83a1a57cc0a2addb583f52556b20daa342d303bd65dd7892e0238956e1185"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the setup_context staticmethod"
# where = {file = "torch/_library/autograd.py", function = "autograd_impl"}
# levels = ["grad"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad14_custom_op_jacrev.py"
# tokens-before = 716
# tokens-after = 51
# queries = 188
#
# [[tool.shrinkrepro.on]]
# torch = "==2.0.1"
# status = "unsupported"
# ///

import torch
from torch import Tensor


@torch.library.custom_op("sensorlab::soft_shrink_pow", mutates_args=())
def f(x: Tensor) -> Tensor:
    return x.clone()


torch.func.vjp(f, torch.tensor(0.0))

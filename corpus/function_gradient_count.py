# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "A generated vmap rule over a backward with one gradient too few"
# failure = "RuntimeError: function <name>Backward returned an incorrect number of gradients (expected <n>, got <n>), raised in _engine_run_backward (torch/autograd/graph.py), under grad"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "a documented contract of autograd.Function"
# program = "sha256:850577deb2c9fd2dd20e4bad237c00d28bc6a21db6904295d8c50561b021043c"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "function <name>Backward returned an incorrect number of gradients (expected <n>, got <n>)"
# where = {file = "torch/autograd/graph.py", function = "_engine_run_backward"}
# levels = ["grad"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "wrong_gradient_count.py"
# tokens-before = 199
# tokens-after = 74
# queries = 322
# ///

import torch


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        pass


torch.func.grad(lambda x: Shift.apply(x, 0))(torch.tensor(0.0))

# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "A compiled backward inside vmap"
# failure = "RuntimeError: It looks like you're trying to call a compiled backward function within vmap/grad/vjp, which isn't supported, raised in _backward_prologue (torch/_functorch/_aot_autograd/subclass_codegen.py:codegen(backward_prologue)), under vmap of compile"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/138422"
# program = "sha256:1afae331c44af55df8da8bf618c1b91f4f89c5bdc21484726a41d5662b9fd22c"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "It looks like you're trying to call a compiled backward function within vmap/grad/vjp, which isn't supported"
# where = {file = "torch/_functorch/_aot_autograd/subclass_codegen.py:codegen(backward_prologue)", function = "_backward_prologue"}
# levels = ["vmap", "compile"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "vmap10_compiled_jacobian.py"
# tokens-before = 434
# tokens-after = 64
# queries = 365
#
# [[tool.shrinkrepro.on]]
# torch = "==2.0.1"
# status = "fixed"
# ///

import torch

x = torch.zeros(1, requires_grad=True)
y = torch.compile(torch.nn.Linear(1, 1), backend="aot_eager")(x)
torch.vmap(lambda v: torch.autograd.grad(y, x))(torch.zeros(1))

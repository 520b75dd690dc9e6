# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "quantile under jvp inside compile: an internal assert"
# failure = "RuntimeError: InferenceMode::is_enabled() && self.is_inference() INTERNAL ASSERT FAILED at VariableMethodStubs.cpp, raised in the program's own code, under compile of jvp"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/197090"
# program = "sha256:2cb089bdf7197e6d7bd089b7f034f0121105adb80abd931a72863050c7ad0f2f"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "RuntimeError"
# sentence = "InferenceMode::is_enabled() && self.is_inference() INTERNAL ASSERT FAILED at VariableMethodStubs.cpp"
# levels = ["compile", "jvp"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad21_quantile_compiled_assert.py"
# tokens-before = 617
# tokens-after = 63
# queries = 538
#
# [[tool.shrinkrepro.on]]
# torch = "==2.0.1"
# status = "changed"
# failure = "RuntimeError: Cannot access data pointer of Tensor that doesn't have storage, raised in set_rng_state (torch/random.py), under jvp of compile"
# ///

import torch


@torch.compile(backend="eager")
def f():
    torch.func.jvp(
        lambda w: torch.quantile(torch.zeros(1), 0),
        (torch.zeros(1),),
        (torch.zeros(1),),
    )


f()

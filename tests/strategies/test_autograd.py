"""autograd.Function as a unit: what is dropped in one method is dropped in the others."""

from __future__ import annotations

import pytest
from shrinkrepro_strategies import autograd, function_bodies, wrappers

from tests.helpers import candidates, normal

FUNCTION = """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(x, n):
        return (x * n, x)
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, n = inputs
        y, same = output
        ctx.n = n
        ctx.save_for_backward(x)
    @staticmethod
    def backward(ctx, g, h):
        x, = ctx.saved_tensors
        return g * ctx.n, None
    @staticmethod
    def jvp(ctx, t, u):
        return t, t
a, b = F.apply(z, 3)
"""


def test_methods_go() -> None:
    found = candidates(autograd.drop_function_method, FUNCTION)
    assert any("def backward" not in text and "def jvp" not in text for text in found)
    assert any("def backward" in text and "def jvp" not in text for text in found)


def test_an_input_goes_everywhere() -> None:
    found = candidates(autograd.drop_function_input, FUNCTION)
    text = next(t for t in found if "def forward(x):" in t)
    assert "F.apply(z)" in text
    assert "return g * ctx.n\n" in text
    assert "def jvp(ctx, t):" in text
    assert "x, = inputs" in text


def test_an_output_goes_everywhere() -> None:
    found = candidates(autograd.drop_function_output, FUNCTION)
    text = next(t for t in found if "return x * n\n" in t)
    assert "y = output" in text
    assert "def backward(ctx, g):" in text
    assert "a = F.apply(z, 3)" in text


def test_a_context_field_goes_with_its_users() -> None:
    found = candidates(autograd.drop_context_field, FUNCTION)
    assert any("ctx.n" not in text for text in found)
    assert any("saved_tensors" not in text and "save_for_backward" not in text for text in found)


def test_bodies_become_the_smallest() -> None:
    found = candidates(function_bodies.plain_function_body, FUNCTION)
    assert any("def setup_context(ctx, inputs, output):\n        pass" in text for text in found)
    assert any("def forward(x, n):\n        return x.view_as(x)" in text for text in found)


def test_all_methods_become_plain_together() -> None:
    assert candidates(function_bodies.plain_rules, FUNCTION) == []  # of two outputs
    single = FUNCTION.replace("(x * n, x)", "x * n").replace("t, t", "t").replace("g, h", "g")
    copied, squared, sine = candidates(function_bodies.plain_rules, single)
    assert "def setup_context(ctx, inputs, output):\n        pass" in copied
    assert "return x ** 2" in squared
    assert "        ctx.save_for_backward(inputs[0])\n        ctx.save_for_forward(inputs[0])\n" in squared
    assert "return (2 * ctx.saved_tensors[0] * g, None)" in squared
    assert "return ctx.saved_tensors[0].cos() * t\n" in sine


OLD_STYLE = """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = torch.tanh(x)
        return ctx.y
    @staticmethod
    def backward(ctx, g):
        return g * (1 - ctx.y ** 2)
torch.autograd.gradcheck(F.apply, torch.ones(2, requires_grad=True, dtype=float))
"""
NEW_STYLE = """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.tanh(x)
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)
    @staticmethod
    def backward(ctx, g):
        return g * (1 - ctx.saved_tensors[0] ** 2)
    @staticmethod
    def jvp(ctx, t):
        return t * (1 - ctx.saved_tensors[0] ** 2)
torch.autograd.gradcheck(F.apply, torch.ones(2, requires_grad=True, dtype=float), check_forward_ad=True)
"""


@pytest.mark.torch
@pytest.mark.parametrize("source", [OLD_STYLE, NEW_STYLE])
def test_plain_rules_are_right(source: str) -> None:
    found = candidates(function_bodies.plain_rules, source)
    assert len(found) == 3
    for text in found:
        exec(compile(text, "program", "exec"), {})


def test_other_classes_are_left_alone() -> None:
    assert candidates(function_bodies.plain_function_body, "class F:\n    def forward(x):\n        return x + 1") == []


def test_a_custom_op_gets_its_annotations_back() -> None:
    source = """
import torch
@torch.library.custom_op('a::b', mutates_args=())
def op(x, n):
    return x * n
@op.register_fake
def _(x, n):
    return x
op(y, 2)
"""
    found = candidates(autograd.plain_custom_op, source)
    assert any("register_fake" not in text for text in found)
    assert any("def op(x: torch.Tensor) -> torch.Tensor:\n    return x.clone()" in t and "op(y)" in t for t in found)


def test_wrappers_leave_what_they_wrap() -> None:
    assert candidates(wrappers.unwrap_compile, "import torch\ng = torch.compile(f, fullgraph=True)") == [
        normal("import torch\ng = f")
    ]
    assert candidates(wrappers.unwrap_compile, "import torch\n@torch.compile\ndef f(x):\n    return x") == [
        normal("import torch\ndef f(x):\n    return x")
    ]
    source = "from torch.utils.checkpoint import checkpoint\ncheckpoint(f, x, use_reentrant=False)"
    assert candidates(wrappers.unwrap_checkpoint, source) == [
        normal("from torch.utils.checkpoint import checkpoint\nf(x)")
    ]
    assert normal("import torch\nf()") in candidates(
        wrappers.unwrap_autocast, "import torch\nwith torch.autocast('cpu', dtype=d):\n    f()"
    )


def test_a_compile_becomes_plainer() -> None:
    found = candidates(wrappers.plainer_compile, "import torch\ntorch.compile(f, backend='inductor', dynamic=True)")
    assert normal("import torch\ntorch.compile(f, backend='eager')") in found


def test_a_compile_without_a_backend_gets_a_plain_one() -> None:
    found = candidates(wrappers.plainer_compile, "import torch\ntorch.compile(f, dynamic=True)(x)")
    assert normal("import torch\ntorch.compile(f, backend='eager')(x)") in found
    found = candidates(wrappers.plainer_compile, "import torch\n@torch.compile\ndef f(x):\n    return x")
    assert normal("import torch\n@torch.compile(backend='eager')\ndef f(x):\n    return x") in found


def test_a_hook_goes_with_its_registration() -> None:
    found = candidates(wrappers.drop_hook, "def h(g):\n    return g\nx.register_hook(h)\nf(x)")
    assert found == [normal("f(x)")]


def test_an_output_goes_with_its_mark_and_its_number() -> None:
    found = candidates(autograd.drop_function_output, TWO_OUTPUTS)
    assert normal(ONE_OUTPUT) in found


TWO_OUTPUTS = """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(x):
        s = x.sin()
        return x * s, s
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(inputs[0], output[0])
    @staticmethod
    def jvp(ctx, t):
        return t, None
y = torch.func.jvp(lambda t: F.apply(t)[0], (x,), (x,))
"""
ONE_OUTPUT = """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(x):
        s = x.sin()
        return x * s
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)
    @staticmethod
    def jvp(ctx, t):
        return t
y = torch.func.jvp(lambda t: F.apply(t), (x,), (x,))
"""


def test_an_input_goes_from_the_batched_rule() -> None:
    source = """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x
    @staticmethod
    def setup_context(ctx, inputs, output):
        pass
    @staticmethod
    def vmap(info, in_dims, x, y):
        a, b = in_dims
        return y, a
F.apply(z, z)
"""
    found = candidates(autograd.drop_function_input, source)
    assert any("def vmap(info, in_dims, x):" in text and "return (x, a)" in text for text in found)


OWN_RULE = """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(x, n):
        return x - n
    @staticmethod
    def vmap(info, in_dims, x, n):
        return F.apply(x, 1) * 2, 0
torch.vmap(lambda x: F.apply(x, torch.zeros(1)))(y)
"""


def test_what_forward_computes_stands_in_the_other_methods() -> None:
    source = OWN_RULE.replace("    @staticmethod\n    def vmap", "    def setup_context(ctx, i, o): pass\n    def vmap")
    found = candidates(function_bodies.forward_for_own_apply, source)
    assert found == [normal(source.replace("F.apply(x, 1) * 2", "(x - 1) * 2"))]


def test_a_dropped_input_is_read_as_what_it_was_given() -> None:
    source = OWN_RULE.replace("    @staticmethod\n    def vmap", "    def setup_context(ctx, i, o): pass\n    def vmap")
    found = candidates(autograd.drop_function_input, source)
    expected = source.replace("x - n", "x - torch.zeros(1)").replace(", n)", ")").replace(", 1)", ")")
    assert normal(expected.replace("F.apply(x, torch.zeros(1))", "F.apply(x)")) in found

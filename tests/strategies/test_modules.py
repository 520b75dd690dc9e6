"""Modules: layers go with the sizes they joined, training goes whole."""

from __future__ import annotations

from shrinkrepro_strategies import functional_modules, modules

from tests.helpers import candidates, normal


def test_the_next_layer_takes_the_size_of_a_dropped_one() -> None:
    source = "from torch import nn\nm = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 5))"
    found = candidates(modules.drop_layer, source)
    assert normal("from torch import nn\nm = nn.Sequential(nn.ReLU(), nn.Linear(3, 5))") in found
    assert normal("from torch import nn\nm = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5))") in found


def test_one_layer_stands_for_the_sequence() -> None:
    found = candidates(
        modules.layer_for_sequence, "from torch import nn\nm = nn.Sequential(nn.Linear(3, 4), nn.ReLU())"
    )
    assert normal("from torch import nn\nm = nn.ReLU()") in found


def test_a_functional_call_is_a_call() -> None:
    source = "from torch.func import functional_call\np = dict(m.named_parameters())\nfunctional_call(m, p, (x, y))"
    assert candidates(modules.call_module, source) == [normal("from torch.func import functional_call\nm(x, y)")]


def test_training_goes_whole() -> None:
    source = """
import torch
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = m(x).sum()
    loss.backward()
    opt.step()
"""
    found = candidates(modules.drop_training, source)
    assert found[0] == normal("import torch\nfor _ in range(3):\n    loss = m(x).sum()")


def test_a_sum_stands_for_a_loss() -> None:
    source = "import torch.nn.functional as F\ny = make()\nF.cross_entropy(h + 1, y)"
    found = candidates(modules.sum_for_loss, source)
    assert normal("import torch.nn.functional as F\n(h + 1).sum()") in found


def test_a_layer_of_one_dimension_less_with_its_inputs() -> None:
    source = "import torch\nx = torch.zeros(1, 2, 1, 2)\ntorch.func.jvp(torch.nn.BatchNorm2d(2), (x,), (x,))"
    first, last, one = candidates(modules.fewer_spatial_dimensions, source)
    assert first == normal(source.replace("2d", "1d").replace("1, 2, 1, 2", "1, 2"))
    assert last == normal(source.replace("2d", "1d").replace("1, 2, 1, 2", "2, 2"))
    assert one == normal(source.replace("2d", "1d").replace("1, 2, 1, 2", "1, 2, 1"))
    source = (
        "import torch\nfrom torch.nn.functional import conv1d, conv3d\nconv3d(torch.ones(2, 2, 2, 2, 2), torch.ones(3))"
    )
    assert (
        "torch.nn.functional.conv2d(torch.ones(2, 2), torch.ones(3))"
        in candidates(modules.fewer_spatial_dimensions, source)[0]
    )
    assert (
        candidates(modules.fewer_spatial_dimensions, "import torch\ntorch.nn.Conv1d(1, 1, 1)(torch.ones(1, 1, 1))")
        == []
    )


FUNCTIONAL = """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))
    def forward(self, x):
        return self.w * x
net = Net()
torch.func.functional_call(net, {"w": w}, (y,))
"""


def test_a_module_called_with_other_parameters_is_what_its_forward_computes() -> None:
    found = candidates(functional_modules.inline_functional_call, FUNCTIONAL)
    assert normal("import torch\nw * y") in found
    assert normal('import torch\ndef f(params, x):\n    return params["w"] * x\nf({"w": w}, y)') in found


def test_a_longer_forward_becomes_a_function_and_what_else_it_needs_keeps_the_module() -> None:
    longer = FUNCTIONAL.replace("return self.w * x", "h = self.w * x\n        return h + self.w")
    (text,) = candidates(functional_modules.inline_functional_call, longer)
    assert "class" not in text
    assert "net" not in text
    assert "def f(params, x):\n    h = params['w'] * x\n    return h + params['w']" in text
    (kept,) = candidates(functional_modules.inline_functional_call, FUNCTIONAL.replace("self.w * x", "self.v * x"))
    assert "net.v * y" in kept
    assert candidates(functional_modules.inline_functional_call, FUNCTIONAL.replace("(y,)", "(y, z)")) == []

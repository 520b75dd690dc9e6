"""Modules: layers go with the sizes they joined, training goes whole."""

from __future__ import annotations

from shrinkrepro_strategies import modules

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

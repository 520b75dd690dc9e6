"""Another device: what is rewritten, and what is left alone."""

from __future__ import annotations

import pytest

from shrinkrepro.core.devices import on_device
from shrinkrepro.core.program import Program


@pytest.mark.parametrize(
    ("source", "device", "after"),
    [
        (
            "import torch\nx = torch.ones(2, device='cuda:0').cuda()",
            "cpu",
            "import torch\nx = torch.ones(2, device='cpu').to('cpu')",
        ),
        (
            "import torch\nx = model.cuda(1)",
            "mps",
            "import torch\ntorch.set_default_device('mps')\nx = model.to('mps')",
        ),
        (
            "'''doc'''\nfrom torch import ones\nones(1)",
            "cuda:1",
            "'''doc'''\nfrom torch import ones\nimport torch\ntorch.set_default_device('cuda:1')\nones(1)",
        ),
        (
            "import torch\nprint(torch.cuda.is_available(), 'on cuda')",
            "cpu",
            "import torch\nprint(torch.cuda.is_available(), 'on cuda')",
        ),
    ],
)
def test_device_strings_and_calls_are_rewritten(source: str, device: str, after: str) -> None:
    assert Program.parse(on_device(source, device)).source == Program.parse(after).source


def test_text_without_devices_is_left_as_it_is_on_the_cpu() -> None:
    source = "import torch   # as it is\nx  =  1\n"
    assert on_device(source, "cpu") == source


def test_a_module_beside_the_script_sets_no_default() -> None:
    assert "set_default_device" not in on_device("import torch\nx = 'cpu'", "cuda", default=False)

"""What the tests here are given."""

import pytest
import torch

SCALE = 2.0


@pytest.fixture
def weight():
    return torch.ones(4) * SCALE


@pytest.fixture(params=[3, 5], ids=["small", "large"])
def batch(request):
    rows = torch.arange(request.param * 4, dtype=torch.float32).reshape(request.param, 4)
    yield rows
    rows.zero_()


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """Nobody asks for it by name, and a script has no tmp_path_factory."""
    monkeypatch.setenv("CACHE", str(tmp_path_factory.mktemp("cache")))

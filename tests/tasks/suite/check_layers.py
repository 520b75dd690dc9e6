"""A small suite with fixtures and parameters; some of its tests fail in torch. Collected only by name."""

import pytest
import torch
from pkg.layers import gated, healthy

SCALE = 0.5
POWERS = tuple(range(2, 4))


@pytest.fixture
def weight(weight):
    return weight * SCALE


@pytest.mark.parametrize("op", [torch.relu, lambda x: x**2, pytest.param(torch.nn.Tanh(), id="tanh")])
def test_gated(batch, weight, op):
    out = torch.vmap(gated, in_dims=(0, None, None))(batch, weight, op)
    assert out.shape == batch.shape


@pytest.mark.parametrize(("n", "dtype"), [(1, torch.float32), (2, torch.float64)])
@pytest.mark.parametrize("power", POWERS)
def test_healthy(n, dtype, power):
    assert healthy(torch.ones(n, dtype=dtype) ** power).dtype == dtype


class TestNorm:
    """Methods, with a set-up."""

    def setup_method(self):
        self.size = 3

    @pytest.mark.parametrize("size", [2])
    def test_cdist(self, size):
        x = torch.zeros(self.size, size)
        torch.func.jacfwd(lambda y: torch.cdist(y, x))(x)


def test_no_torch_in_it():
    assert 1 == 2

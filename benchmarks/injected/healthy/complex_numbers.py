"""Complex arithmetic inside functions of real inputs."""

import torch
from torch.func import grad, jacrev, vmap

t = torch.linspace(0.1, 1.0, 6)


def spectrum(v):
    return torch.fft.fft(v * torch.exp(1j * v)).abs()


energy = grad(lambda v: spectrum(v).square().sum())(t)
rows = jacrev(spectrum)(t)
torch.testing.assert_close(2 * spectrum(t) @ rows, energy, rtol=1e-4, atol=1e-4)
batch = torch.stack([t, t.flip(0)])
torch.testing.assert_close(vmap(spectrum)(batch), torch.stack([spectrum(row) for row in batch]))
print(energy.tolist())

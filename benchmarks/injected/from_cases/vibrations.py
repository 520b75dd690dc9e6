"""Vibrational analysis with an energy network: the Hessian by torch.func and by torch.autograd.functional."""

import math

import torch
from torch import nn
from torch.func import hessian

torch.set_default_dtype(torch.float64)
AMU = {"H": 1.008, "C": 12.011, "O": 15.999}


class RadialBasis(nn.Module):
    def __init__(self, count=8, cutoff=5.0):
        super().__init__()
        self.cutoff = cutoff
        self.register_buffer("centres", torch.linspace(0.5, cutoff, count))
        self.gamma = (count / cutoff) ** 2

    def envelope(self, r):
        return 0.5 * (torch.cos(math.pi * r / self.cutoff) + 1) * (r < self.cutoff)

    def forward(self, r):
        return torch.exp(-self.gamma * (r.unsqueeze(-1) - self.centres) ** 2) * self.envelope(r).unsqueeze(-1)


class PairEnergy(nn.Module):
    def __init__(self, species=3, features=8, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(species, features)
        self.basis = RadialBasis()
        self.net = nn.Sequential(
            nn.Linear(8 + features, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1)
        )

    def forward(self, numbers, positions):
        i, j = torch.triu_indices(len(numbers), len(numbers), offset=1)
        r = (positions[i] - positions[j]).square().sum(-1).sqrt()
        pair = self.embed(numbers[i]) * self.embed(numbers[j])
        return self.net(torch.cat([self.basis(r), pair], dim=-1)).sum() + (1.2 / r**4).sum()


def relax(model, numbers, positions, steps=5, lr=0.02):
    for _ in range(steps):
        positions = positions.detach().requires_grad_()
        energy = model(numbers, positions)
        (g,) = torch.autograd.grad(energy, positions)
        positions = positions - lr * g.clamp(-1, 1)
    return positions.detach(), energy.item()


def mass_weight(H, masses):
    m = masses.repeat_interleave(3).rsqrt()
    return H * m[:, None] * m[None, :]


def frequencies(H, masses):
    lam = torch.linalg.eigvalsh(mass_weight(0.5 * (H + H.T), masses))
    return lam.sign() * lam.abs().sqrt()


torch.manual_seed(77)
symbols = ["O", "H", "H", "C"]
table = {"H": 0, "C": 1, "O": 2}
numbers = torch.tensor([table[s] for s in symbols])
masses = torch.tensor([AMU[s] for s in symbols])
positions = torch.tensor([[0.0, 0.0, 0.0], [0.96, 0.0, 0.0], [-0.24, 0.93, 0.0], [0.3, -0.8, 1.4]])

model = PairEnergy()
positions, energy = relax(model, numbers, positions)
print("relaxed energy", energy)


def flat_energy(flat):
    return model(numbers, flat.view(-1, 3))


slow = torch.autograd.functional.hessian(flat_energy, positions.flatten())
fast = hessian(flat_energy)(positions.flatten())
for label, H in (("autograd", slow), ("torch.func", fast)):
    modes = frequencies(H, masses)
    print(label, "softest and stiffest mode", modes[0].item(), modes[-1].item())
gap = ((fast - slow).norm() / slow.norm()).item()
if gap > 1e-8:
    raise AssertionError(f"the Hessians differ by {gap:.2e}")

"""Clusters of argon-like particles: short molecular-dynamics run in reduced units.

forces = -grad(potential); the first thing the driver does is compare them with finite
differences of the potential, a habit from the Fortran days.
"""

from __future__ import annotations

import torch
from torch.func import grad

DTYPE = torch.float64


def fcc_cluster(shells: int, spacing: float = 1.55) -> torch.Tensor:
    base = torch.tensor([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]], dtype=DTYPE)
    cells = torch.cartesian_prod(*[torch.arange(shells, dtype=DTYPE)] * 3).view(-1, 1, 3)
    return (spacing * (cells + base)).reshape(-1, 3)


class LennardJones:
    def __init__(self, epsilon=1.0, sigma=1.0, cutoff=3.0):
        self.epsilon, self.sigma, self.cutoff = epsilon, sigma, cutoff
        sr6 = (sigma / cutoff) ** 6
        self.shift = 4 * epsilon * (sr6 * sr6 - sr6)

    def pair(self, r):
        sr6 = (self.sigma / r) ** 6
        return 4 * self.epsilon * (sr6 * sr6 - sr6) - self.shift


class Potential:
    def __init__(self, pairwise, extra=()):
        self.pairwise, self.extra = pairwise, tuple(extra)

    def __call__(self, x):
        i, j = torch.triu_indices(len(x), len(x), 1)
        r = torch.linalg.vector_norm(x[i] - x[j], dim=-1)
        energy = torch.where(r < self.pairwise.cutoff, self.pairwise.pair(r), torch.zeros_like(r))
        return energy.sum() + sum(term(x) for term in self.extra)


def numerical_forces(potential, x, h=1e-5):
    out = torch.zeros_like(x)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            plus, minus = x.clone(), x.clone()
            plus[i, k] += h
            minus[i, k] -= h
            out[i, k] = -(potential(plus) - potential(minus)) / (2 * h)
    return out


class VelocityVerlet:
    def __init__(self, potential, dt=0.002):
        self.potential, self.dt = potential, dt
        self._gradient = grad(potential)

    def forces(self, x):
        return -self._gradient(x)

    def run(self, x, v, steps):
        f = self.forces(x)
        for _ in range(steps):
            v = v + 0.5 * self.dt * f
            x = x + self.dt * v
            f = self.forces(x)
            v = v + 0.5 * self.dt * f
            yield x, v


def kinetic(v):
    return 0.5 * v.square().sum()


def main():
    torch.manual_seed(2)
    x = fcc_cluster(1) + 0.03 * torch.randn(4, 3, dtype=DTYPE)
    potential = Potential(LennardJones(), extra=[lambda x: 0.01 * x.square().sum()])
    md = VelocityVerlet(potential)
    print(f"{len(x)} particles, potential energy {potential(x).item():.5f}")

    exact, approx = md.forces(x), numerical_forces(potential, x)
    print("largest finite-difference force", approx.abs().max().item())
    torch.testing.assert_close(exact, approx, rtol=1e-5, atol=1e-6)

    v = 0.1 * torch.randn_like(x)
    v -= v.mean(0)
    start = potential(x) + kinetic(v)
    for x, v in md.run(x, v, steps=10):
        pass
    print("energy drift", (potential(x) + kinetic(v) - start).item())


if __name__ == "__main__":
    main()

"""Static equilibrium of a hyper-elastic square sheet with linear triangles.

Newton needs the stiffness matrix, i.e. the Hessian of the stored energy with respect to
the nodal displacements.  Two ways of getting it are compared at every step.
"""

import torch
from torch.func import grad, hessian

torch.set_default_dtype(torch.float64)


class Mesh:
    def __init__(self, nx, ny, width=1.0, height=1.0):
        self.nx, self.ny = nx, ny
        xs = torch.linspace(0.0, width, nx + 1)
        ys = torch.linspace(0.0, height, ny + 1)
        self.nodes = torch.cartesian_prod(xs, ys)
        self.triangles = torch.tensor(list(self._triangles()), dtype=torch.long)

    def _index(self, i, j):
        return i * (self.ny + 1) + j

    def _triangles(self):
        for i in range(self.nx):
            for j in range(self.ny):
                a, b = self._index(i, j), self._index(i + 1, j)
                c, d = self._index(i + 1, j + 1), self._index(i, j + 1)
                yield (a, b, c)
                yield (a, c, d)

    def edge_matrices(self, positions):
        p = positions[self.triangles]
        return torch.stack([p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]], dim=-1)


class NeoHookean:
    def __init__(self, young=10.0, poisson=0.3):
        self.mu = young / (2 * (1 + poisson))
        self.lam = young * poisson / ((1 + poisson) * (1 - 2 * poisson))

    def density(self, F):
        J = F[:, 0, 0] * F[:, 1, 1] - F[:, 0, 1] * F[:, 1, 0]
        first = F.square().sum((-2, -1))
        return 0.5 * self.mu * (first - 2) - self.mu * torch.log(J) + 0.5 * self.lam * (J - 1) ** 2


class Problem:
    def __init__(self, mesh, material, traction=0.2):
        self.mesh, self.material = mesh, material
        self.rest_inverse = torch.linalg.inv(mesh.edge_matrices(mesh.nodes))
        x = mesh.nodes[:, 0]
        self.free = (x != x.min()).repeat_interleave(2)
        self.load = torch.zeros(len(x), 2)
        self.load[x == x.max(), 0] = traction / (x == x.max()).sum()

    def energy(self, u):
        u = u.view(-1, 2)
        F = self.mesh.edge_matrices(self.mesh.nodes + u) @ self.rest_inverse
        return self.material.density(F).sum() - (self.load * u).sum()


problem = Problem(Mesh(2, 1), NeoHookean())
u = torch.zeros(2 * len(problem.mesh.nodes))
for step in range(3):
    residual = grad(problem.energy)(u)[problem.free]
    K = hessian(problem.energy)(u)
    slow = torch.autograd.functional.hessian(problem.energy, u)
    print(f"step {step}  residual {residual.norm().item():.1e}  |K| {K.norm().item():.4f}")
    torch.testing.assert_close(K, slow)
    du = torch.zeros_like(u)
    du[problem.free] = -torch.linalg.solve(K[problem.free][:, problem.free], residual)
    u = u + du

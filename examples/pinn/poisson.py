"""Solve -(u_xx + u_yy) = f on the unit square with a physics-informed radial-basis network."""

import argparse
import math

import torch
from rbf import RBFNetwork, boundary, interior
from torch.func import functional_call, hessian, vmap


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--points", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def source_term(points):
    """f for the exact solution sin(pi x) sin(pi y)."""
    return 2 * math.pi**2 * torch.sin(math.pi * points[:, 0]) * torch.sin(math.pi * points[:, 1])


def exact(points):
    return torch.sin(math.pi * points[:, 0]) * torch.sin(math.pi * points[:, 1])


class Poisson:
    """The residuals of the equation and of its boundary condition."""

    def __init__(self, network, weight=10.0):
        self.network = network
        self.weight = weight

    def value(self, parameters, point):
        return functional_call(self.network, parameters, (point.unsqueeze(0),)).squeeze(0)

    def laplacian(self, parameters, points):
        def at(point):
            return torch.trace(hessian(lambda p: self.value(parameters, p))(point))

        return vmap(at)(points)

    def loss(self, parameters, inside, edge):
        residual = self.laplacian(parameters, inside) + source_term(inside)
        on_edge = functional_call(self.network, parameters, (edge,))
        return residual.pow(2).mean() + self.weight * on_edge.pow(2).mean()


def train(problem, arguments):
    generator = torch.Generator().manual_seed(arguments.seed)
    parameters = dict(problem.network.named_parameters())
    optimizer = torch.optim.Adam(parameters.values(), lr=arguments.rate)
    history = []
    for step in range(arguments.steps):
        inside = interior(arguments.points, generator)
        edge = boundary(arguments.points, generator)
        optimizer.zero_grad()
        loss = problem.loss(parameters, inside, edge)
        loss.backward()
        optimizer.step()
        history.append(loss.item())
        if step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.4e}")
    return history


def main():
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    network = RBFNetwork()
    history = train(Poisson(network), arguments)
    grid = interior(256, torch.Generator().manual_seed(1))
    error = (network(grid) - exact(grid)).norm() / exact(grid).norm()
    print(f"relative error {error.item():.3f} after {len(history)} steps")


if __name__ == "__main__":
    main()

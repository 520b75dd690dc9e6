"""Transforms within transforms, over captured values of every level."""

import torch
from torch.func import grad, hessian, jacfwd, jvp, vjp, vmap

torch.set_default_dtype(torch.float64)
centres = torch.linspace(-1, 1, 3)
x = torch.tensor([0.3, -0.7])


def field(x, c):
    return torch.exp(-((x - c) ** 2).sum())


curvature = vmap(lambda c: hessian(lambda z: field(z, c))(x))(centres)
direct = torch.stack([jacfwd(grad(field))(x, c) for c in centres])
torch.testing.assert_close(curvature, direct)
mixed = grad(lambda c: jvp(lambda z: field(z, c), (x,), (torch.ones(2),))[1])(centres[0])
_, pull = vjp(lambda c: grad(field)(x, c).sum(), centres[0])
torch.testing.assert_close(mixed, pull(torch.ones(()))[0])
table = vmap(vmap(field, in_dims=(None, 0)), in_dims=(0, None))(torch.stack([x, -x]), centres)
print(table.shape, float(mixed), float(curvature.diagonal(dim1=1, dim2=2).sum()))

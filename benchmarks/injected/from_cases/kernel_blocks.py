# exported from score_kernels.ipynb
# %%
import itertools as it
import math
from functools import partial

import torch
from torch.func import grad, jacfwd

torch.set_default_dtype(torch.float64)
_ = torch.manual_seed(8)

# %% [markdown]
# Sampling derivative observations of a GP prior needs  d^2 k / dx dx'  on the whole grid.

# %%
kernels = {
    "gauss": lambda r, ell: torch.exp(-((r / ell) ** 2)),
    "cauchy": lambda r, ell: 1 / (1 + (r / ell) ** 2),
    "imq": lambda r, ell: (1 + (r / ell) ** 2) ** -0.5,
}


def distance(a, b):
    return torch.linalg.norm(a - b)


def evaluate(name, a, b, ell=1.0):
    return kernels[name](distance(a, b), ell)


def mixed_block(k, a, b):
    """d^2 k / (da db^T) as a (d, d) block"""
    return jacfwd(grad(k, argnums=0), argnums=1)(a, b)


def block_by_hand(k, a, b):
    a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
    (slope,) = torch.autograd.grad(k(a, b), a, create_graph=True)
    return torch.stack([torch.autograd.grad(entry, b, retain_graph=True)[0] for entry in slope])


# %%
points = [torch.tensor(p) for p in it.product((0.0, 0.5), (-0.25, 0.25), (1.0,))]
dim, ell = len(points[0]), 0.8
rows = {}
for name in kernels:
    k = partial(evaluate, name, ell=ell)
    blocks = {(i, j): mixed_block(k, points[i], points[j]) for i, j in it.permutations(range(len(points)), 2)}
    check = {place: block_by_hand(k, points[place[0]], points[place[1]]) for place in blocks}
    rows[name] = dict(
        largest=max(block.abs().max().item() for block in blocks.values()),
        worst=max((blocks[place] - check[place]).abs().max().item() for place in blocks),
    )

# %%
for name, r in rows.items():
    print(f"{name:>7}: largest entry {r['largest']:.4f}  worst difference {r['worst']:.1e}")
print("log 2pi =", round(math.log(2 * math.pi), 3))
bad = sorted(name for name, r in rows.items() if r["worst"] > 1e-9)
assert bad == [], f"kernels with wrong blocks: {bad}"

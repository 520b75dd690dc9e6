"""Hessian-vector products of a small transformer block, forward over reverse."""

import torch
from torch import nn
from torch.func import functional_call, grad, jvp


class Block(nn.Module):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.heads = heads

    def forward(self, x):
        batch, steps, dim = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        shape = (batch, steps, self.heads, dim // self.heads)
        q, k, v = (t.reshape(shape).transpose(1, 2) for t in (q, k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(batch, steps, dim))


torch.manual_seed(0)
model = nn.Sequential(Block(), nn.LayerNorm(16), Block())
params = {name: p.detach() for name, p in model.named_parameters()}
x, target = torch.randn(2, 8, 16), torch.randn(2, 8, 16)


def loss(p):
    return (functional_call(model, p, (x,)) - target).pow(2).mean()


direction = {name: torch.randn_like(p) for name, p in params.items()}
_, product = jvp(grad(loss), (params,), (direction,))
print(sum(v.norm() for v in product.values()))

"""Directional derivative of a small attention block with respect to its input."""

import torch
from torch import nn
from torch.func import functional_call, jvp

DEVICE = torch.device("cuda")


class Block(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        split = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = (part.transpose(1, 2) for part in split.unbind(2))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))


torch.manual_seed(0)
block = Block().to(DEVICE)
parameters = dict(block.named_parameters())
tokens = torch.randn(2, 16, 64, device=DEVICE)
direction = torch.randn_like(tokens)
value, slope = jvp(lambda x: functional_call(block, parameters, (x,)).pow(2).mean(), (tokens,), (direction,))
print(f"value {value.item():.4f}, slope {slope.item():.4f}")

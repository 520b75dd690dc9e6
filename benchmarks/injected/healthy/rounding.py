"""Long sums in float32, where a batched product rounds otherwise than a loop does."""

import torch
from torch.func import grad, vmap

torch.manual_seed(3)
weights = torch.randn(64, 512)
x = torch.randn(16, 512)
batched = vmap(lambda row: weights @ row)(x)
looped = torch.stack([weights @ row for row in x])
print("largest difference", (batched - looped).abs().max().item())
assert torch.allclose(batched, looped, rtol=1e-3, atol=1e-3)
slopes = vmap(grad(lambda row: torch.logsumexp(weights @ row, 0)))(x)
print(slopes.shape, slopes.norm().item())

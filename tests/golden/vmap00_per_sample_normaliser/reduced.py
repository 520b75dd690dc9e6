import torch

torch.vmap(torch.func.grad(bool))(torch.zeros(1))

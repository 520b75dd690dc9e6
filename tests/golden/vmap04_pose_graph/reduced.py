import torch

torch.vmap(lambda x: torch.tensor([x]))(torch.zeros(1))

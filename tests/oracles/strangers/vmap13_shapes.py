import torch

torch.vmap(lambda x: x + torch.zeros(3))(torch.zeros(1, 2))

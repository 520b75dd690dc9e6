import torch

torch.vmap(torch.tensor(0).copy_)(torch.zeros(1))

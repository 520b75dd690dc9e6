import torch

x = torch.ones(1)
torch.autograd.grad(x, x)

import torch
from torch.func import vjp

x = torch.ones(1)
y = torch.ones(1)
vjp(lambda x: y.add_(x), x)

import torch
from torch.func import jvp

x = torch.ones(1)
y = torch.ones(1)
jvp(lambda x: y.mul_(x), (x,), (x,))

import torch
from torch.func import jvp

x = torch.ones(1)
jvp(torch.Tensor.requires_grad_, (x,), (x,))

import torch
from torch.func import jvp

torch.compile(lambda x: jvp(lambda x: x @ torch.ones(3), (x,), (x,)), backend="eager")(torch.ones(1))

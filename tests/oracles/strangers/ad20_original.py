import torch
from torch.func import jvp, stack_module_state

x = torch.ones(1)


def f(x):
    net = torch.nn.Linear(1, 1)
    net.weight = torch.nn.Parameter(x[None])
    return stack_module_state([net])[0]["weight"]


jvp(f, (x,), (x,))

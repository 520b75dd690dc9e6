import sys

import torch

sys.setrecursionlimit(10**9)


def f(x):
    return max([x], key=f)


torch.vmap(f)(torch.zeros(1))

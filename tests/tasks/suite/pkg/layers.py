"""The library under test."""

import torch


def gated(x, weight, op):
    h = op(x * weight)
    if h.sum() > 0:  # what vmap cannot do
        return h * 2
    return h


def healthy(x):
    return torch.sin(x)

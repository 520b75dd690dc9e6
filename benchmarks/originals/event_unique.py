"""How many distinct tokens each window of a text holds."""

import torch


def windows(tokens, size, stride):
    return tokens.unfold(0, size, stride)


def diversity(window):
    _, counts = torch.unique(window, return_counts=True)
    share = counts / window.numel()
    return -(share * share.log()).sum()


torch.manual_seed(5)
tokens = torch.randint(0, 30, (400,))
tokens[150:250] = tokens[150:250] % 3
scores = torch.vmap(diversity)(windows(tokens, 50, 25))
print("least diverse window", int(scores.argmin()))

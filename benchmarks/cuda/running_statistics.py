"""A per-sample filter that keeps a running mean in a tensor of the enclosing function."""

import torch
from torch.func import vmap


def make_filter(width, device):
    running = torch.zeros(width, device=device)
    count = torch.zeros((), device=device)

    def smooth(sample, decay=0.9):
        count.add_(1)
        running.mul_(decay).add_(sample, alpha=1 - decay)
        return sample - running / (1 - decay**count)

    return smooth


torch.manual_seed(4)
device = torch.device("cuda", 0)
signals = torch.randn(20, 12, device=device).cumsum(0)
smooth = make_filter(12, device)
warm = torch.stack([smooth(signal) for signal in signals[:4]])
rest = vmap(smooth)(signals[4:])
print(torch.cat([warm, rest]).std().item())

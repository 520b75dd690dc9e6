"""Mean and spread of the valid part of each sequence."""

import torch

PAD = -1.0


def trimmed(sequence, keep=0.8):
    valid = sequence[sequence != PAD]
    ordered, _ = valid.sort()
    count = int(len(ordered) * keep)
    core = ordered[:count]
    return core.mean(), core.std()


def load(batch=6, steps=20):
    generator = torch.Generator().manual_seed(11)
    data = torch.rand(batch, steps, generator=generator)
    for row, length in enumerate(torch.randint(5, steps, (batch,), generator=generator).tolist()):
        data[row, length:] = PAD
    return data


data = load()
means, spreads = torch.vmap(trimmed)(data)
for mean, spread in zip(means.tolist(), spreads.tolist()):
    print(f"{mean:.3f} +- {spread:.3f}")

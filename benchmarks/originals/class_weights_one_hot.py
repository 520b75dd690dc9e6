"""Per-sample confusion counts of a classifier."""

import torch
import torch.nn.functional as F


def confusion(logits, label, smoothing=0.1):
    predicted = logits.argmax(-1)
    weights = torch.softmax(logits, -1) * (1 - smoothing) + smoothing / logits.shape[-1]
    truth = F.one_hot(label)
    guess = F.one_hot(predicted)
    return (truth[:, None] * guess[None, :]) * weights[:, None]


torch.manual_seed(3)
logits = torch.randn(12, 5)
labels = torch.randint(0, 5, (12,))
per_sample = torch.vmap(confusion)(logits, labels)
total = per_sample.sum(0)
print("confusion", total.shape, total.diagonal().sum() / total.sum())

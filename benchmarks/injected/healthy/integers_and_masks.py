"""vmap over functions of integers and masks, in several dimensions, with and without chunks."""

import torch
from torch.func import vmap

tokens = torch.arange(24).reshape(2, 3, 4) % 5
table = torch.eye(5)


def count(row):
    return torch.nn.functional.one_hot(row, 5).sum(0)


def embed(row, scale):
    return table[row].mean(0) * scale


counts = vmap(vmap(count))(tokens)
assert counts.dtype == torch.int64
chunked = vmap(embed, in_dims=(1, None), chunk_size=2)(tokens[0], 2.0)
torch.testing.assert_close(chunked, torch.stack([embed(column, 2.0) for column in tokens[0].T]))
masks = vmap(lambda row: row > row.float().mean(), in_dims=-1, out_dims=1)(tokens[1])
print(counts.tolist(), masks.tolist())

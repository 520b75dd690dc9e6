"""Per-query scores against a sparse document matrix."""

import torch


def documents(rows=6, columns=10):
    torch.manual_seed(8)
    dense = torch.rand(rows, columns)
    dense[dense < 0.7] = 0
    return dense.to_sparse()


def score(query, matrix):
    hits = torch.sparse.mm(matrix, query[:, None]).squeeze(1)
    return torch.log1p(hits)


matrix = documents()
queries = torch.rand(5, 10)
print(torch.vmap(score, in_dims=(0, None))(queries, matrix).argmax(-1))

import torch

torch.func.vjp(lambda x: x.to_sparse_csr(), torch.zeros(1, 1))

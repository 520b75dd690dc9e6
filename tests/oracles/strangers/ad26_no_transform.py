import torch

torch.ones(1, 1).to_sparse_csr().stride()

import torch

torch.vmap(lambda x: x._typed_storage())(torch.zeros(1))

"""Losses with integer, boolean and dictionary extras beside the value that is differentiated."""

import torch
from torch.func import grad, grad_and_value, jacfwd, jacrev, vjp, vmap

torch.manual_seed(0)


def loss(weights, x):
    scores = x @ weights["w"] + weights["b"]
    hits = (scores > 0).sum()
    return scores.square().mean(), {"hits": hits, "any": hits > 2, "scores": scores.detach()}


weights = {"w": torch.randn(3), "b": torch.zeros(())}
x = torch.randn(6, 3)
gradient, extra = grad(loss, has_aux=True)(weights, x)
(again, (value, _)) = grad_and_value(loss, has_aux=True)(weights, x)
rows, extras = vmap(grad(loss, has_aux=True), in_dims=(None, 0))(weights, x[:, None])
forward, _ = jacfwd(lambda w: (x @ w, x.sum()), has_aux=True)(weights["w"])
backward, _ = jacrev(lambda w: (x @ w, x.sum()), has_aux=True)(weights["w"])
out, pull, extra_out = vjp(lambda w: (x @ w, w.argmax()), weights["w"], has_aux=True)
torch.testing.assert_close(gradient, again)
torch.testing.assert_close(rows["w"].mean(0), gradient["w"])
torch.testing.assert_close(forward, backward)
print(int(extra["hits"]), extras["hits"].tolist(), float(value), pull(out)[0].shape, int(extra_out))

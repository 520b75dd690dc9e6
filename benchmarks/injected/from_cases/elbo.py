# Per-example ELBO of a small VAE: once with a loop, once vectorised.
import math

import torch
import torch.nn as nn

torch.manual_seed(6)

LATENT = 3
WIDTH = 20
DATA = 8


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(DATA, WIDTH), nn.ELU())
        self.mu = nn.Linear(WIDTH, LATENT)
        self.logvar = nn.Linear(WIDTH, LATENT)

    def forward(self, x):
        h = self.body(x)
        return self.mu(h), self.logvar(h)


class Decoder(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(LATENT, WIDTH), nn.ELU(), nn.Linear(WIDTH, DATA))


def kl_divergence(mu, logvar):
    return 0.5 * (mu.pow(2) + logvar.exp() - logvar - 1).sum()


class VAE(nn.Module):
    def __init__(self, beta=1.0, obs_std=0.5):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()
        self.beta, self.obs_std = beta, obs_std

    def elbo(self, x, eps):
        mu, logvar = self.encoder(x)
        z = mu + eps * torch.exp(0.5 * logvar)
        recon = self.decoder(z)
        log_lik = -0.5 * (((x - recon) / self.obs_std) ** 2 + math.log(2 * math.pi * self.obs_std**2)).sum()
        return log_lik - self.beta * kl_divergence(mu, logvar)


def toy_data(n):
    t = torch.linspace(0, 2 * math.pi, DATA)
    amp, phase = 1 + torch.rand(n, 1), 6.28 * torch.rand(n, 1)
    return amp * torch.sin(t + phase) + 0.1 * torch.randn(n, DATA)


vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=5e-3)
for it in range(6):
    x = toy_data(16)
    eps = torch.randn(16, LATENT)
    loss = -torch.stack([vae.elbo(a, b) for a, b in zip(x, eps)]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 2 == 0:
        print("iteration %d, negative elbo %.3f" % (it, loss))

x = toy_data(6)
eps = torch.randn(6, LATENT)
loop = torch.stack([vae.elbo(a, b) for a, b in zip(x, eps)])
fast = torch.vmap(vae.elbo)(x, eps)
print("loop:", [round(v, 3) for v in loop.tolist()])
print("vmap:", [round(v, 3) for v in fast.tolist()])
print("means %.4f %.4f" % (loop.mean(), fast.mean()))
assert (loop - fast).abs().max() < 1e-3 * loop.abs().max(), "the fast ELBO is another"

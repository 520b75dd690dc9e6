# Natural cubic splines through noisy trajectories.  The tridiagonal system is
# solved with the Thomas algorithm.
import torch

torch.manual_seed(5)

N_KNOTS = 8
N_CURVES = 4
EVAL_POINTS = 50


def thomas(lower, diag, upper, rhs):
    n = diag.shape[0]
    c = [upper[0] / diag[0]]
    d = [rhs[0] / diag[0]]
    for i in range(1, n):
        m = diag[i] - lower[i] * c[i - 1]
        c.append(upper[i] / m)
        d.append((rhs[i] - lower[i] * d[i - 1]) / m)
    x = [d[n - 1]]
    for i in range(n - 2, -1, -1):
        x.insert(0, d[i] - c[i] * x[0])
    return torch.stack(x)


def second_derivatives(t, y):
    h = t[1:] - t[:-1]
    slope = (y[1:] - y[:-1]) / h
    inner = 6 * (slope[1:] - slope[:-1])
    zero = torch.zeros(1)
    rhs = torch.cat([zero, inner, zero])
    one = torch.ones(1)
    diag = torch.cat([one, 2 * (h[1:] + h[:-1]), one])
    lower = torch.cat([zero, h[:-1], zero])
    upper = torch.cat([zero, h[1:], zero])
    return thomas(lower, diag, upper, rhs)


def spline(t, y, query):
    m = second_derivatives(t, y)
    i = (torch.searchsorted(t, query) - 1).clamp(0, len(t) - 2)
    h = t[i + 1] - t[i]
    a = (t[i + 1] - query) / h
    b = (query - t[i]) / h
    return a * y[i] + b * y[i + 1] + ((a**3 - a) * m[i] + (b**3 - b) * m[i + 1]) * h**2 / 6


knots = torch.linspace(0, 1, N_KNOTS)
query = torch.linspace(0, 1, EVAL_POINTS)
phase = torch.rand(N_CURVES, 1) * 6.28
values = torch.sin(2 * 3.14159 * knots + phase) + 0.05 * torch.randn(N_CURVES, N_KNOTS)

one = spline(knots, values[0], query)
truth = torch.sin(2 * 3.14159 * query + phase[0])
print("single curve rmse:", (one - truth).pow(2).mean().sqrt().item())

loop = torch.stack([spline(knots, v, query) for v in values])
print("loop:", loop.shape, loop.mean().item())

batched = torch.vmap(spline, in_dims=(None, 0, None))(knots, values, query)
print("vmap:", batched.shape, batched.mean().item())
print("largest difference:", (batched - loop).abs().max().item())
assert torch.allclose(batched, loop, atol=1e-4)

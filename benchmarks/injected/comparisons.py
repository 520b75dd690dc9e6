"""How a host uses the transforms: what it computes with one, and with what it compares that.

Decision: each use is text in the host's own names, ``features`` (a vector to a vector), ``score`` (a vector to a
number), ``batch`` (rows of vectors), ``point`` and ``tangent`` (vectors), and says nothing of the operators inside.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Use:
    """One use of transforms: the names that it imports from torch.func, the lines that give ``got`` and ``want``."""

    imports: tuple[str, ...]
    got: str
    want: str
    helpers: tuple[str, ...] = ()  # names of ``HELPERS`` that it calls


_GRADIENT = """
def plain_gradient(function, v):
    leaf = v.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(leaf), leaf)
    return gradient
"""

_JACOBIAN = """
def plain_jacobian(function, v):
    leaf = v.detach().clone().requires_grad_()
    out = function(leaf)
    rows = []
    for k in range(out.numel()):
        (row,) = torch.autograd.grad(out[k], leaf, retain_graph=True)
        rows.append(row)
    return torch.stack(rows)
"""

_CURVATURE = """
def plain_hessian(function, v):
    leaf = v.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(leaf), leaf, create_graph=True)
    rows = []
    for entry in gradient:
        (row,) = torch.autograd.grad(entry, leaf, retain_graph=True)
        rows.append(row)
    return torch.stack(rows)
"""

_SLOPES = """
def numeric_gradient(function, v, step=1e-5):
    slopes = torch.zeros_like(v)
    for k in range(v.numel()):
        shift = torch.zeros_like(v)
        shift[k] = step
        slopes[k] = (function(v + shift) - function(v - shift)) / (2 * step)
    return slopes
"""

HELPERS = {
    "plain_gradient": _GRADIENT,
    "plain_jacobian": _JACOBIAN,
    "plain_hessian": _CURVATURE,
    "numeric_gradient": _SLOPES,
}

_ROWS = "want = torch.stack([features(row) for row in batch])"
_GRADS = "want = torch.stack([plain_gradient(score, row) for row in batch])"
_DIRECTION = "want = plain_jacobian(features, point) @ tangent"
WEIGHTED = """
def weighted(scale, v):
    return features(v) * scale
"""

USES = {
    "vmap": Use(("vmap",), "got = vmap(features)(batch)", _ROWS),
    "vmap-last": Use(("vmap",), "got = vmap(features, in_dims=-1)(batch.T.contiguous())", _ROWS),
    "vmap-columns": Use(("vmap",), "got = vmap(features, in_dims=1)(batch.T)", _ROWS),
    "vmap-out": Use(
        ("vmap",), "got = vmap(features, out_dims=1)(batch)", "want = torch.stack([features(r) for r in batch], 1)"
    ),
    "vmap-chunks": Use(("vmap",), "got = vmap(features, chunk_size=2)(batch)", _ROWS),
    "vmap-shared": Use(
        ("vmap",),
        WEIGHTED + "\n\ngot = vmap(weighted, in_dims=(None, 0))(tangent, batch)",
        "want = torch.stack([weighted(tangent, row) for row in batch])",
    ),
    "vmap-pairs": Use(
        ("vmap",),
        WEIGHTED + "\n\ngot = vmap(weighted)(batch.flip(0), batch)",
        "want = torch.stack([weighted(a, b) for a, b in zip(batch.flip(0), batch)])",
    ),
    "vmap-vmap": Use(
        ("vmap",),
        "stacked = torch.stack([batch, batch + 0.5])\ngot = vmap(vmap(features))(stacked)",
        "want = torch.stack([torch.stack([features(row) for row in rows]) for rows in stacked])",
    ),
    "vmap-grad": Use(("grad", "vmap"), "got = vmap(grad(score))(batch)", _GRADS, ("plain_gradient",)),
    "vmap-module": Use(
        ("functional_call", "vmap"),
        "layer = torch.nn.Linear(CONFIG['width'], CONFIG['width']).to(DTYPE)\n"
        "spread = torch.linspace(0.5, 1.5, batch.shape[0], dtype=DTYPE)\n"
        "members = {k: torch.stack([p.detach() * s for s in spread]) for k, p in layer.named_parameters()}\n"
        "got = vmap(lambda member, row: features(functional_call(layer, member, (row,))))(members, batch)",
        "rows = [functional_call(layer, {k: p[i] for k, p in members.items()}, (r,)) for i, r in enumerate(batch)]\n"
        "want = torch.stack([features(row) for row in rows])",
    ),
    "grad-vmap": Use(
        ("grad", "vmap"), "got = grad(lambda rows: vmap(score)(rows).sum())(batch)", _GRADS, ("plain_gradient",)
    ),
    "grad": Use(("grad",), "got = grad(score)(point)", "want = plain_gradient(score, point)", ("plain_gradient",)),
    "grad-numeric": Use(
        ("grad",), "got = grad(score)(point)", "want = numeric_gradient(score, point)", ("numeric_gradient",)
    ),
    "vmap-grad-numeric": Use(
        ("grad", "vmap"),
        "got = vmap(grad(score))(batch)",
        "want = torch.stack([numeric_gradient(score, row) for row in batch])",
        ("numeric_gradient",),
    ),
    "value": Use(
        ("grad_and_value",),
        "got, level = grad_and_value(score)(point)\nprint('score', float(level))",
        "want = plain_gradient(score, point)",
        ("plain_gradient",),
    ),
    "vjp": Use(
        ("vjp",),
        "out, pull = vjp(features, point)\n(got,) = pull(tangent)",
        "want = tangent @ plain_jacobian(features, point)",
        ("plain_jacobian",),
    ),
    "jvp": Use(("jvp",), "_, got = jvp(features, (point,), (tangent,))", _DIRECTION, ("plain_jacobian",)),
    "linearize": Use(
        ("linearize",), "_, push = linearize(features, point)\ngot = push(tangent)", _DIRECTION, ("plain_jacobian",)
    ),
    "dual": Use(
        (),
        "import torch.autograd.forward_ad as fwAD\nwith fwAD.dual_level():\n"
        "    dual = fwAD.make_dual(point, tangent)\n    got = fwAD.unpack_dual(features(dual)).tangent",
        _DIRECTION,
        ("plain_jacobian",),
    ),
    "jacrev": Use(
        ("jacrev",), "got = jacrev(features)(point)", "want = plain_jacobian(features, point)", ("plain_jacobian",)
    ),
    "jacfwd": Use(
        ("jacfwd",), "got = jacfwd(features)(point)", "want = plain_jacobian(features, point)", ("plain_jacobian",)
    ),
    "jacfwd-second": Use(
        ("jacfwd",),
        WEIGHTED + "\n\ngot = jacfwd(weighted, argnums=1)(tangent, point)",
        "want = plain_jacobian(lambda v: weighted(tangent, v), point)",
        ("plain_jacobian",),
    ),
    "jacrev-both": Use(
        ("jacrev",),
        WEIGHTED + "\n\nleft, got = jacrev(weighted, argnums=(0, 1))(tangent, point)\nprint('left', left.shape)",
        "want = plain_jacobian(lambda v: weighted(tangent, v), point)",
        ("plain_jacobian",),
    ),
    "modes": Use(("jacfwd", "jacrev"), "got = jacfwd(features)(point)", "want = jacrev(features)(point)"),
    "hessian": Use(
        ("hessian",), "got = hessian(score)(point)", "want = plain_hessian(score, point)", ("plain_hessian",)
    ),
    "hessian-twice": Use(
        ("jacrev",), "got = jacrev(jacrev(score))(point)", "want = plain_hessian(score, point)", ("plain_hessian",)
    ),
    "grad-grad": Use(
        ("grad",),
        "along = lambda v: grad(score)(v) @ tangent\ngot = grad(along)(point)",
        "want = plain_hessian(score, point) @ tangent",
        ("plain_hessian",),
    ),
    "jvp-grad": Use(
        ("grad", "jvp"),
        "slope, got = jvp(grad(score), (point,), (tangent,))\nprint('slope', slope.norm().item())",
        "want = plain_hessian(score, point) @ tangent",
        ("plain_hessian",),
    ),
    "vmap-jvp": Use(
        ("jvp", "vmap"),
        "push = lambda row, t: jvp(features, (row,), (t,))[1]\ngot = vmap(push, in_dims=(0, None))(batch, tangent)",
        "want = torch.stack([plain_jacobian(features, row) @ tangent for row in batch])",
        ("plain_jacobian",),
    ),
    "jvp-vmap": Use(
        ("jvp", "vmap"),
        "moves = tangent.expand_as(batch)\n_, got = jvp(vmap(features), (batch,), (moves,))",
        "want = torch.stack([plain_jacobian(features, row) @ tangent for row in batch])",
        ("plain_jacobian",),
    ),
    "vmap-jacrev": Use(
        ("jacrev", "vmap"),
        "got = vmap(jacrev(features))(batch)",
        "want = torch.stack([plain_jacobian(features, row) for row in batch])",
        ("plain_jacobian",),
    ),
    "vmap-jacfwd": Use(
        ("jacfwd", "vmap"),
        "got = vmap(jacfwd(features))(batch)",
        "want = torch.stack([plain_jacobian(features, row) for row in batch])",
        ("plain_jacobian",),
    ),
    "vmap-hessian": Use(
        ("hessian", "vmap"),
        "got = vmap(hessian(score))(batch)",
        "want = torch.stack([plain_hessian(score, row) for row in batch])",
        ("plain_hessian",),
    ),
    "compile": Use((), 'got = torch.compile(features, backend="eager")(point)', "want = features(point)"),
    "compile-grad": Use(
        ("grad",),
        'got = torch.compile(grad(score), backend="eager")(point)',
        "want = grad(score)(point)",
    ),
    "compile-vmap": Use(("vmap",), 'got = torch.compile(vmap(features), backend="eager")(batch)', _ROWS),
}

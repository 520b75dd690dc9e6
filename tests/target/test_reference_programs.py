"""Programs of one line or two, as people write them, on the references and on torch's own transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch")
real = pytest.importorskip("torch.func")

from shrinkrepro.target import plain, reverse  # noqa: E402
from shrinkrepro.target.forward import Forward, twice  # noqa: E402

F64 = torch.float64
reverse_mode = reverse.Reverse(reverse.vjp)


def kit(**given: Any) -> dict[str, Any]:
    """All transforms, torch's own but for ``given``; hessian as torch composes it."""
    names = ("grad", "grad_and_value", "vjp", "jvp", "linearize", "jacrev", "jacfwd", "vmap")
    transforms = {name: given.get(name, getattr(real, name)) for name in names}
    jacfwd, jacrev = transforms["jacfwd"], transforms["jacrev"]
    transforms["hessian"] = lambda f, argnums=0: jacfwd(jacrev(f, argnums), argnums)
    return transforms


def forward_mode(vjp: Any) -> dict[str, Any]:
    forward = Forward(twice(vjp))
    return {"jvp": forward.jvp, "linearize": forward.linearize, "jacfwd": forward.jacfwd}


KITS = {
    "everything": kit(
        grad=reverse_mode.grad, grad_and_value=reverse_mode.grad_and_value, jacrev=reverse_mode.jacrev,
        vjp=reverse.vjp, vmap=plain.vmap, **forward_mode(reverse.vjp),
    ),
    "vmap": kit(vmap=plain.vmap),
    "forward": kit(**forward_mode(real.vjp)),
}  # fmt: skip

draw = torch.Generator().manual_seed(0)
x, y = (torch.randn(3, dtype=F64, generator=draw) for _ in range(2))
m, b = torch.randn(3, 3, dtype=F64, generator=draw), torch.randn(4, 3, dtype=F64, generator=draw)
z = torch.complex(x, y)
one = torch.ones((), dtype=F64)
cube = "lambda v: v ** 3"

layers = [torch.nn.Linear(3, 2, dtype=F64) for _ in range(3)]
stacked, _ = real.stack_module_state(layers)
parameters = {name: p.detach() for name, p in layers[0].named_parameters()}
norm = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh()).double()


def call(params: Any, inputs: Any) -> Any:
    return real.functional_call(layers[0], params, (inputs,))


def call_norm(params: Any) -> Any:
    buffers = {name: buffer.clone() for name, buffer in norm.named_buffers()}
    return real.functional_call(norm, (params, buffers), (b,)).pow(2).sum()


def with_changed(f: Callable[[Any], Any], value: Any) -> Any:
    """The result of ``f``, and what it made of ``value`` in place."""
    return f(value), value


def without_grad(v: Any) -> Any:
    with torch.no_grad():
        weight = v.sin()
    return (v * weight).sum()


def written(v: Any) -> Any:
    out = torch.zeros(3, dtype=F64)
    out = out + 0 * v
    out.copy_(v * v)
    out[:2] *= v[1:]
    return out


PROGRAMS = """
with_changed(lambda v: vmap(lambda r: r.mul_(2).sum())(v), b.clone())
with_changed(lambda v: jvp(lambda r: r.mul_(2), (v,), (y.clone(),)), x.clone())
jacrev(lambda v: torch.zeros(5, dtype=F64).index_put((torch.tensor([0, 2, 4]),), v))(x)
(jacfwd(written)(x), jacrev(written)(x), grad(without_grad)(x))
grad(call_norm)({name: p.detach() for name, p in norm.named_parameters()})
(jacfwd(lambda p: call(p, x))(parameters), jacrev(lambda p: call(p, x))(parameters))
hessian(lambda p: call(p, x).sin().sum())(parameters)
jvp(lambda p: call(p, x), (parameters,), ({name: p.cos() for name, p in parameters.items()},))
vmap(call, in_dims=(0, None))(stacked, x)
vmap(grad(lambda p, v: call(p, v).pow(2).sum()), in_dims=(0, None))(stacked, x)
vmap(grad(lambda p, v: call(p, v).pow(2).sum()), in_dims=(None, 0))(parameters, b)
jvp(lambda v: (v, (v > 0).long().sum(), v > 0), (x,), (y,))
(jvp(lambda v: torch.ones(2, dtype=F64), (x,), (y,)), jacrev(lambda v: torch.ones(2))(x), jacfwd(lambda v: one)(x))
(jvp(lambda v: v, (x,), (y,)), jacrev(lambda v: v)(x), jacfwd(lambda v: v)(x))
(grad(lambda v: v.float().sum().double())(x), jacfwd(lambda v: v.bfloat16() * 2)(x), grad(lambda v: v.half().sum())(x))
grad(lambda v, i: v[i].sum())(x, torch.tensor([0, 1]))
linearize(lambda v: v * v.conj().exp(), z)[1](z * 1j)
vjp(lambda v: v.abs(), z)[1](x)
(grad(lambda v: (v.abs() ** 2).sum())(z), jvp(lambda v: torch.view_as_real(v).prod(-1), (z,), (z.conj(),)))
vmap(grad(lambda v: (v * v.conj()).real.sum()))(z)
(vmap(vmap(torch.dot, (0, None)), (None, 0))(b, b), vmap(lambda a, c: (a, c), (0, None), (0, None))(b, x))
vmap(lambda pair: pair[0] + pair[1], in_dims=([0, 1],))([b, b.T.contiguous()])
(vmap(lambda a, *, s: a * s)(b, s=x), vmap(lambda a: a.outer(a), in_dims=-1, out_dims=-1)(b))
vmap(lambda a: (a, {"k": a.sum()}), out_dims=(1, {"k": 0}))(b)
vmap(lambda a: (a, {"k": a * 2}), out_dims=1)(b)
(vmap(lambda a, n: a * n, in_dims=(0, None))(b, 3), vmap(lambda a, n: a, in_dims=(0, None))(b, None))
(vmap(lambda v: v > 0)(b), vmap(lambda v: torch.ones(2))(b), vmap(lambda v: v.new_zeros(2) + v.sum())(b))
(vmap(lambda v: v * 2)(b[:0]), jacrev(lambda v: v * 2)(x[:0]), jacfwd(lambda v: v * 2)(x[:0]))
(jacrev(torch.sin, chunk_size=2)(x), jacfwd(torch.sin, randomness="same")(x), vmap(torch.sum, chunk_size=3)(b))
(jacrev(lambda a: (a.sin(), {"k": a}), has_aux=True)(x), jacfwd(lambda a: (a.sin(), a), has_aux=True)(x))
(hessian(lambda a, c: (a * c * a).sum(), argnums=(0, 1))(x, y), jacrev(torch.mul, argnums=-1)(x, y))
hessian(lambda d: (d["a"] * d["b"].sin()).sum())({"a": x, "b": y})
vjp(lambda a: {"y": a.sin(), "s": [a.sum()]}, x)[1]({"y": y, "s": [one]})
linearize(lambda d, v: {"o": d["a"] * v}, {"a": x}, y)[1]({"a": y}, x)
grad_and_value(lambda a, c: ((a * c).sum(), a * 2), argnums=(1, 0), has_aux=True)(x, y)
grad(grad(lambda a: a**3 * a.detach()))(x[0])
grad(lambda v: grad(lambda a: a**3 * v.detach())(v))(x[0])
grad(lambda v: v * grad(lambda a: v + a)(v))(x[0])
jvp(lambda v: v * jvp(lambda a: v + a, (v,), (one,))[1], (x[0],), (y[0],))
grad(lambda v: torch.autograd.grad((v**3).sum(), v, create_graph=True)[0].sum())(x)
vjp(lambda v: torch.autograd.grad((v**3).sum(), v, create_graph=True)[0], x)[1](y)
(vmap(lambda t: jvp(torch.sin, (x,), (t,))[1])(b), vmap(vjp(torch.sin, x)[1])(b))
grad(lambda v: vjp(lambda a: a**3, v)[1](v)[0].sum())(x)
vmap(lambda v: jacfwd(jacrev(lambda a: a.pow(3).sum()))(v).trace())(b)
hessian(lambda v: hessian(lambda a: (a**4).sum())(v).sum())(x)
(jacfwd(torch.linalg.svdvals)(m), hessian(torch.linalg.det)(m), jvp(torch.linalg.solve, (m, x), (m.T, y)))
(jvp(torch.relu, (x * 0,), (y,)), jvp(torch.linalg.norm, (x * 0,), (y,)), jacfwd(torch.amax)(x * 0))
(grad(lambda v: torch.where(v > 0, v.sqrt(), 0 * v).sum())(x), jvp(torch.sqrt, (x * 0,), (x * 0,)))
jacfwd(lambda w: torch.nn.functional.conv1d(b[None, :3], w[None]))(m)
(vmap(lambda v: torch.einsum("i,ij,j", v, m, v))(b), vmap(torch.gather, (0, None, 0))(b, 0, b.argsort(-1)))
(vmap(lambda v: 2 * v)(b.clone().requires_grad_()), vjp(lambda v: 2 * v, x)[1](y.clone().requires_grad_()))
""".strip().splitlines()

# torch's vjp, on which forward mode alone stands, lets no program change its input in place.
REFUSED = {"forward": PROGRAMS[1:2]}

# Where torch's own result is not right, or is another only in what nobody compares (2.13):
#   jacfwd with a negative argnums is zero, for the number is compared with the positions.
#   jacfwd and jvp of what is linear in an input that requires a gradient say that the result requires one, too.


def flat(tree: Any) -> tuple[list[Any], Any]:
    leaves, spec = torch.utils._pytree.tree_flatten(tree)
    return list(leaves), spec


@pytest.mark.parametrize("name", KITS)
@pytest.mark.filterwarnings("ignore")
def test_programs(name: str) -> None:
    wrong = []
    for program in PROGRAMS:
        if program in REFUSED.get(name, ()):
            with pytest.raises(RuntimeError, match="in-place"):
                eval(program, {**globals(), **KITS[name]})
            continue
        (want, shape), (got, same_shape) = (flat(eval(program, {**globals(), **k})) for k in (kit(), KITS[name]))
        try:
            assert shape == same_shape
            torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-9, equal_nan=True)
            assert [leaf.requires_grad for leaf in got] == [leaf.requires_grad for leaf in want]
        except AssertionError as error:
            wrong.append(f"{program}: {error}")
    assert wrong == []

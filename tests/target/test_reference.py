"""The reference transforms against torch's own, in float64: values, shapes, structures, and what keeps a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch")
real = pytest.importorskip("torch.func")

from shrinkrepro.target import differences, plain, reverse  # noqa: E402
from shrinkrepro.target.forward import Forward, twice  # noqa: E402

F64 = torch.float64
plainly = reverse.Reverse(reverse.vjp)
ours = Forward(twice(reverse.vjp))
over_torch = Forward(twice(real.vjp))

NN = torch.nn.functional


def rows(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``f`` along the last dimension, where there is one."""
    return lambda x: f(x) if x.dim() else x


def matrix(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``f`` of matrices; other shapes stay."""
    return lambda x: f(x) if x.dim() == 2 else x


def regular(x: Any) -> Any:
    return x @ x.mT + torch.eye(x.shape[0], dtype=x.dtype)


layers = {size: torch.nn.Linear(size, size, dtype=F64).requires_grad_(False) for size in (1, 2, 3)}


def module(x: Any) -> Any:
    layer = layers[x.shape[-1]]
    return real.functional_call(layer, dict(layer.named_parameters()), (x,)).tanh()


# Maps from a tensor of any shape with two dimensions or fewer to one of the same shape.
STEPS: dict[str, Callable[[Any], Any]] = {
    "sin": torch.sin,
    "exp": lambda x: torch.exp(0.3 * x),
    "square": lambda x: x * x,
    "scale": lambda x: 1.5 * x - 0.25,
    "centre": lambda x: x - x.mean(),
    "weigh": lambda x: x * torch.tanh(x).sum(),
    "flip": lambda x: x.flip(-1) if x.dim() else x,
    "first": lambda x: x * x.reshape(-1)[0],
    "matmul": lambda x: x @ (x.mT @ x) if x.dim() == 2 else x,
    "cumsum": lambda x: x.cumsum(-1) if x.dim() else x,
    "detached": lambda x: x * x.detach().cos(),
    "where": lambda x: torch.where(x > 0, x, 0.5 * x * x),
    "gelu": NN.gelu,
    "softplus": NN.softplus,
    "celu": NN.celu,
    "erf": torch.erf,
    "lgamma": lambda x: torch.lgamma(x * x + 1),
    "power": lambda x: (x * x + 0.1) ** 1.7,
    "atan2": lambda x: torch.atan2(x, x * x + 1),
    "logaddexp": lambda x: torch.logaddexp(x, x * x),
    "clamp": lambda x: x.clamp(-0.5, 0.8),
    "softmax": rows(lambda x: x.softmax(-1)),
    "logsumexp": rows(lambda x: x - x.logsumexp(-1, keepdim=True)),
    "norm": lambda x: x * torch.linalg.vector_norm(x + 0.1),
    "variance": rows(lambda x: x * x.var(-1, keepdim=True, unbiased=False)),
    "amax": rows(lambda x: x * x.amax(-1, keepdim=True)),
    "sort": rows(lambda x: x.sort(-1).values),
    "gather": rows(lambda x: x.gather(-1, x.argsort(-1))),
    "scatter": rows(lambda x: x.scatter(-1, torch.zeros_like(x, dtype=torch.long)[..., :1], x[..., :1] * 3)),
    "index_add": rows(lambda x: x.index_add(-1, torch.tensor([0]), x[..., :1])),
    "concatenate": rows(lambda x: torch.cat([x, x * x], -1)[..., : x.shape[-1]]),
    "in place": lambda x: x.clone().add_(x * x),
    "row in place": rows(lambda x: torch.cat([x.clone()[..., :1].mul_(x[..., :1]), x[..., 1:]], -1)),
    "pad": rows(lambda x: NN.pad(x, (1, 1))[..., 1:-1] * x),
    "einsum": matrix(lambda x: torch.einsum("ij,kj,kl->il", x, x, x)),
    "attention": matrix(lambda x: NN.scaled_dot_product_attention(x[None], x[None], x[None])[0]),
    "inverse": matrix(lambda x: torch.linalg.inv(regular(x)) @ x),
    "cholesky": matrix(lambda x: torch.linalg.cholesky(regular(x)) @ x),
    "fourier": rows(lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2, n=x.shape[-1])),
    "complex": lambda x: (torch.complex(x, x * x).exp() * 0.1).real,
    "polar": lambda x: torch.view_as_real(torch.polar(x * x + 1, x)).prod(-1),
    "loss": lambda x: x * NN.smooth_l1_loss(x, x * x + 0.3),
    "module": rows(module),
}

# What is not among them, for the results differ by torch's own fault (2.13), as finite differences show:
#   det, slogdet, logdet, solve: jvp of jvp is wrong, and jacfwd of jvp; reverse mode is right.
#   layer_norm, batch_norm, instance_norm: derivatives from the third on are wrong in both modes.
#   prelu: vmap of jacrev takes the first sample's signs for all.
#   logcumsumexp, prod with a zero: the second reverse derivative is NaN, forward mode is not.
#   matrix_exp: what reverse mode twice needs of it has no right batching rule.
#   linearize inside another transform: it reads memory that nothing wrote, or raises.
# And what no reference could give: random numbers, which a batch draws at once and a loop one by one.
steps = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3)
shapes = st.sampled_from([(), (1,), (3,), (2, 3), (2, 1)])
seeds = st.integers(0, 1000)


def function(names: list[str]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        for name in names:
            x = STEPS[name](x)
        return x

    return run


def scalar(names: list[str]) -> Callable[[Any], Any]:
    return lambda x: function(names)(x).sin().sum()


def sample(seed: int, *shape: int) -> Any:
    return torch.randn(shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def leaves(tree: Any) -> list[Any]:
    return [leaf for leaf in torch.utils._pytree.tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def assert_same(got: Any, want: Any) -> None:
    torch.testing.assert_close(got, want, rtol=1e-8, atol=1e-8, equal_nan=True)
    for a, b in zip(leaves(got), leaves(want)):
        assert a.requires_grad == b.requires_grad


@settings(max_examples=30)
@given(steps, shapes, seeds)
def test_one_transform(names: list[str], shape: tuple[int, ...], seed: int) -> None:
    f, g = function(names), scalar(names)
    x, t = sample(seed, *shape), sample(seed + 1, *shape)
    assert_same(plainly.grad(g)(x), real.grad(g)(x))
    assert_same(plainly.grad_and_value(g)(x), real.grad_and_value(g)(x))
    assert_same(plainly.jacrev(f)(x), real.jacrev(f)(x))
    for forward in (ours, over_torch):
        assert_same(forward.jvp(f, (x,), (t,)), real.jvp(f, (x,), (t,)))
        assert_same(forward.jacfwd(f)(x), real.jacfwd(f)(x))
        assert_same(forward.linearize(f, x)[1](t), real.jvp(f, (x,), (t,))[1])
    output, pull = reverse.vjp(f, x)
    expected, expected_pull = real.vjp(f, x)
    assert_same((output, pull(t)), (expected, expected_pull(t)))


# What a transform makes of a function from a tensor to one of its shape, again as such a function.
NESTS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda kit, f: kit["grad"](lambda x: f(x).sin().sum()),
    "jvp": lambda kit, f: lambda x: kit["jvp"](f, (x,), (x.cos(),))[1],
    "vjp": lambda kit, f: lambda x: kit["vjp"](f, x)[1](x.cos())[0],
    "jacrev": lambda kit, f: lambda x: kit["jacrev"](f)(x).sum(tuple(range(x.dim()))),
    "jacfwd": lambda kit, f: lambda x: kit["jacfwd"](f)(x).sum(tuple(range(x.dim()))),
    "vmap": lambda kit, f: lambda x: kit["vmap"](f, x.dim() - 1, x.dim() - 1)(x) if x.dim() else f(x),
    "chunked": lambda kit, f: lambda x: kit["vmap"](f, chunk_size=2)(x) if x.dim() else f(x),
}
REAL = {name: getattr(real, name) for name in ("grad", "jvp", "vjp", "jacrev", "jacfwd", "vmap")}
OURS = {"grad": plainly.grad, "vjp": reverse.vjp, "jacrev": plainly.jacrev, "vmap": plain.vmap,
        "jvp": ours.jvp, "jacfwd": ours.jacfwd}  # fmt: skip
ONE_KIND = [
    OURS,
    {**REAL, "vmap": plain.vmap},
    {**REAL, "jvp": over_torch.jvp, "jacfwd": over_torch.jacfwd},
]


@settings(max_examples=50)
@given(steps, st.lists(st.sampled_from(sorted(NESTS)), min_size=2, max_size=3), shapes, seeds)
@example(["exp"], ["jvp", "jvp", "jvp"], (3,), 0)
@example(["weigh"], ["grad", "vmap", "jacfwd"], (2, 3), 0)
def test_nested_transforms(names: list[str], nest: list[str], shape: tuple[int, ...], seed: int) -> None:
    def nested(kit: Any) -> Any:
        f: Any = function(names)
        for name in nest:
            f = NESTS[name](kit, f)
        return f(sample(seed, *shape))

    try:
        want = nested(REAL)
    except RuntimeError:  # it does not know how: the conjugate of a complex number has no batching rule
        reject()
    for kit in ONE_KIND:
        assert_same(nested(kit), want)


KINKS = {"where", "detached", "clamp", "amax", "sort", "gather", "loss", "celu"}  # differences see one, and no detach
SMOOTH = st.sampled_from(sorted(STEPS.keys() - KINKS))
numerical = Forward(differences.pushed)
DIFFERENCES = {**OURS, "jvp": numerical.jvp, "jacfwd": numerical.jacfwd, "vjp": differences.vjp,
               "grad": reverse.Reverse(differences.vjp).grad,
               "jacrev": reverse.Reverse(differences.vjp).jacrev}  # fmt: skip


@settings(max_examples=30)
@given(st.lists(SMOOTH, min_size=1, max_size=2), st.lists(st.sampled_from(sorted(NESTS)), max_size=2), shapes, seeds)
def test_finite_differences(names: list[str], nest: list[str], shape: tuple[int, ...], seed: int) -> None:
    def nested(kit: Any) -> Any:
        f: Any = function(names)
        for name in nest:
            f = NESTS[name](kit, f)
        return f(0.3 * sample(seed, *shape))

    torch.testing.assert_close(nested(DIFFERENCES), nested(REAL), rtol=1e-5, atol=1e-7)


@settings(max_examples=50)
@given(
    steps,
    st.tuples(st.sampled_from([None, 0, 1, -1]), st.sampled_from([0, 1, 2, -1])),
    st.sampled_from([0, 1, -1]),
    st.sampled_from([None, 1, 2]),
    seeds,
)
def test_vmap_dims(names: list[str], dims: tuple[int | None, int], out: int, chunk: int | None, seed: int) -> None:
    f = function(names)
    x, y = sample(seed, 3, 3), sample(seed + 1, 3, 3, 3)

    def run(vmap: Any) -> Any:
        tree = vmap(
            lambda pair, k: {"sum": pair["a"].sum() + f(pair["b"]), "b": (f(pair["b"]), k)},
            in_dims=({"a": dims[0], "b": dims[1]}, None),
            out_dims={"sum": out, "b": (out, 0)},
            chunk_size=chunk,
        )
        return tree({"a": x, "b": y}, torch.tensor(2.0, dtype=F64))

    assert_same(run(plain.vmap), run(real.vmap))


@given(st.sampled_from([0, 1, -1, (0,), (1, 0), (0, 1)]), seeds)
@settings(max_examples=20)
def test_argnums_trees_and_aux(argnums: Any, seed: int) -> None:
    tree = {"w": sample(seed, 2, 3), "b": [sample(seed + 1, 2)]}
    x = sample(seed + 2, 3)

    def loss(params: Any, x: Any, *, scale: float) -> Any:
        y = params["w"] @ x + params["b"][0]
        return (y * y.sin()).sum() * scale, {"y": y}

    def outputs(params: Any, x: Any) -> Any:
        y = params["w"] @ x + params["b"][0]
        return {"y": y.exp(), "s": (y.sum(),)}

    assert_same(
        plainly.grad(loss, argnums=argnums, has_aux=True)(tree, x, scale=2.0),
        real.grad(loss, argnums=argnums, has_aux=True)(tree, x, scale=2.0),
    )
    assert_same(
        plainly.grad_and_value(loss, argnums=argnums, has_aux=True)(tree, x, scale=2.0),
        real.grad_and_value(loss, argnums=argnums, has_aux=True)(tree, x, scale=2.0),
    )
    assert_same(plainly.jacrev(outputs, argnums=argnums)(tree, x), real.jacrev(outputs, argnums=argnums)(tree, x))
    if argnums != -1:  # there torch's own jacfwd is zero (2.13: it compares the number with the positions)
        assert_same(ours.jacfwd(outputs, argnums=argnums)(tree, x), real.jacfwd(outputs, argnums=argnums)(tree, x))
    assert_same(
        ours.jvp(lambda p, x: (outputs(p, x), x), (tree, x), (tree, x), has_aux=True),
        real.jvp(lambda p, x: (outputs(p, x), x), (tree, x), (tree, x), has_aux=True),
    )


@pytest.mark.parametrize("name", ["grad", "vjp", "jvp", "jacrev", "jacfwd"])
def test_graphs_that_lead_to_a_parameter_are_kept(name: str) -> None:
    weight = sample(3, 3).requires_grad_()
    x = sample(4, 3)

    def through(kit: Any) -> Any:
        value = NESTS[name](kit, lambda x: (weight * x).sin())(x)
        (gradient,) = torch.autograd.grad(value.sum(), weight)
        return value.detach(), gradient

    assert_same(through(OURS), through(REAL))
    with torch.no_grad():
        assert_same(NESTS[name](OURS, torch.sin)(x), NESTS[name](REAL, torch.sin)(x))
        assert not NESTS[name](OURS, lambda x: weight * x.sin())(x).requires_grad


def test_random_numbers_of_a_loop() -> None:
    def noisy(x: Any) -> Any:
        return x + torch.randn(2)

    same = plain.vmap(noisy, randomness="same")(torch.zeros(3, 2))
    different = plain.vmap(noisy, randomness="different")(torch.zeros(3, 2))
    assert torch.equal(same[0], same[2])
    assert not torch.equal(different[0], different[2])


def test_complex_numbers() -> None:
    z, t = torch.complex(sample(1, 3), sample(2, 3)), torch.complex(sample(3, 3), sample(4, 3))

    def f(z: Any) -> Any:
        return z * z.conj().sin() + z.abs()

    assert_same(ours.jvp(f, (z,), (t,)), real.jvp(f, (z,), (t,)))
    assert_same(reverse.vjp(f, z)[1](t), real.vjp(f, z)[1](t))
    assert_same(plainly.grad(lambda z: f(z).abs().sum())(z), real.grad(lambda z: f(z).abs().sum())(z))

"""The planted bugs, each with what a host needs to show it.

Decision: a plant is a file of its own in ``plants/`` that knows nothing of its host; the host is drawn from the plant's
name, or is a file in ``from_cases/``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.injected.comparisons import USES, WEIGHTED
from benchmarks.injected.hosts import Need, draw

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Injection:
    """A plant and a host that it makes fail."""

    plant: str
    need: Need | str  # or the name of a file in ``from_cases/``
    draw: int = 0

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.plant}+{self.need}" if isinstance(self.need, str) else self.plant

    @property
    def preload(self) -> Path:
        """The plant's file."""
        return FOLDER / "plants" / f"{self.plant}.py"

    @property
    def host(self) -> str:
        """The host's text."""
        if isinstance(self.need, str):
            return (FOLDER / "from_cases" / f"{self.need}.py").read_text(encoding="utf-8")
        return draw(self.need, f"{self.plant} {self.draw}")

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the host where a transform may be said to be wrong."""
        if isinstance(self.need, str):
            calls = [_CALLS[self.need]]
        else:
            calls = [line for line in USES[self.need.use].got.splitlines() if line.strip() and line not in WEIGHTED]
        return tuple(n for n, line in enumerate(self.host.splitlines(), 1) if any(call in line for call in calls))


_CALLS = {  # the outermost call of a transform in each of ``from_cases/``
    "per_sample": "return vmap(",
    "particle_forces": "return -self._gradient(x)",
    "elbo": "fast = torch.vmap(",
    "spline": "batched = torch.vmap(",
    "vibrations": "fast = hessian(",
    "kernel_blocks": "return jacfwd(",
    "sheet": "K = hessian(",
}

INJECTIONS = (
    Injection("vmap_cumsum_nested", Need("torch.cumsum({v}, 0)", "vmap-vmap")),
    Injection("vmap_softmax_dim", Need("torch.softmax({v}, 0)", "vmap")),
    Injection("vmap_amax_batch", Need("{v} - torch.amax({v}, 0)", "vmap")),
    Injection("vmap_roll_across", Need("{v} * torch.roll({v}, 2)", "vmap-columns")),
    Injection("vmap_dot_order", Need("{v} / (1 + torch.dot({v}, {v}))", "vmap-pairs")),
    Injection("vmap_maximum_unbatched", Need("torch.maximum({v}, torch.full(({v}.shape[0],), 0.1))", "vmap-shared")),
    Injection("vmap_sort_wide", Need("torch.sort({v}).values", "vmap", width=6)),
    Injection("vmap_flip_float64", Need("torch.flip({v}, (0,))", "vmap", dtype="float64")),
    Injection("vmap_sinc_zero", Need("torch.sinc({v} - {v}[0])", "vmap")),
    Injection("vmap_var_correction", Need("{v} * torch.var({v})", "vmap"), 1),
    Injection("vmap_lerp_weight", Need("torch.lerp({v}, {v} ** 2, torch.sigmoid({v}))", "vmap")),
    Injection("vmap_chunks_reversed", Need("torch.sin({v})", "vmap-chunks")),
    Injection("vmap_in_dims_negative", Need("torch.tanh({v}) * 2", "vmap-last")),
    Injection("vmap_out_dims_reshaped", Need("torch.cos({v})", "vmap-out")),
    Injection("vmap_module_bias_stale", Need("torch.tanh({v})", "vmap-module")),
    Injection("vmap_exp_detached", Need("torch.exp(-{v})", "grad-vmap")),
    Injection("vmap_erfc_dtype", Need("torch.erfc({v})", "vmap"), 25),
    Injection("jvp_tanh_factor", Need("torch.tanh({v})", "jvp"), 1),
    Injection("jvp_logsumexp_dropped", Need("{v} - torch.logsumexp({v}, 0)", "jacfwd")),
    Injection("jvp_sqrt", Need("torch.sqrt(1 + {v} ** 2)", "dual")),
    Injection("jvp_div_sign", Need("{v} / (2 + {v} ** 2)", "jvp-vmap")),
    Injection("jvp_mv_transposed", Need("torch.mv(torch.outer({v}, {v}.flip(0)), {v})", "modes")),
    Injection("jvp_cos_float64", Need("torch.cos({v})", "jvp", dtype="float64")),
    Injection("jvp_prod_wide", Need("{v} * torch.prod(1 + 0.1 * {v})", "jacfwd", width=6)),
    Injection("jvp_pow_zero", Need("torch.relu({v}) ** 2.5", "linearize")),
    Injection("jvp_vmapped_silu", Need("torch.nn.functional.silu({v})", "vmap-jvp")),
    Injection("jvp_layer_norm", Need("torch.nn.functional.layer_norm({v}, ({v}.shape[0],))", "vmap-jacfwd")),
    Injection("jacfwd_second_argument", Need("torch.sin({v}).cumsum(0)", "jacfwd-second")),
    Injection("jacrev_both_swapped", Need("torch.sin({v}).cumsum(0)", "jacrev-both")),
    Injection("second_order_sinh", Need("torch.sinh({v})", "grad-grad")),
    Injection("second_order_log_softmax", Need("torch.log_softmax({v}, 0)", "hessian-twice")),
    Injection("jvp_grad_expm1", Need("torch.expm1({v})", "jvp-grad")),
    Injection("hessian_rsqrt", Need("torch.rsqrt(1 + {v} ** 2)", "hessian")),
    Injection("vmap_hessian_cosh", Need("torch.cosh({v})", "vmap-hessian")),
    Injection("grad_atan2_sign", Need("torch.atan2({v}, 1 + {v} ** 2)", "grad")),
    Injection(
        "grad_mm_transposed", Need("(torch.outer({v}, {v}.flip(0)) @ torch.outer({v}.cos(), {v})).sum(1)", "grad")
    ),
    Injection("grad_log1p_float64", Need("torch.log1p({v} ** 2)", "vjp", dtype="float64")),
    Injection(
        "grad_index_select_last", Need("torch.index_select({v}, 0, torch.arange({v}.shape[0]).flip(0))", "grad"), 1
    ),
    Injection("grad_elu_alpha", Need("torch.nn.functional.elu({v} - {v}.mean(), alpha=0.5)", "jacrev")),
    Injection("grad_logcumsumexp_sign", Need("torch.logcumsumexp({v}, 0)", "value")),
    Injection("grad_under_vmap_cumprod", Need("torch.cumprod(1 + {v}, 0)", "vmap-grad")),
    Injection("grad_atan_first_sample", Need("torch.atan({v})", "vmap-grad")),
    Injection("vmap_under_grad_softplus", Need("torch.nn.functional.softplus({v})", "grad-vmap")),
    Injection("backward_erf_factor", Need("torch.erf({v})", "grad-numeric", dtype="float64")),
    Injection("backward_norm", Need("{v} / (1 + torch.linalg.vector_norm({v}))", "vmap-grad-numeric", dtype="float64")),
    Injection("backward_asinh_sign", Need("torch.asinh({v})", "grad-numeric", dtype="float64"), 1),
    Injection("backward_xlogy_second", Need("torch.xlogy({v}, 1 + {v} ** 2)", "grad-numeric", dtype="float64")),
    Injection("compile_hypot", Need("torch.hypot({v}, {v} + 1)", "compile")),
    Injection("compile_logaddexp", Need("torch.logaddexp({v}, {v}.flip(0))", "compile-vmap")),
    Injection("grad_tanh_vmapped", "per_sample"),
    Injection("backward_norm", "particle_forces"),
    Injection("vmap_elu_slope", "elbo"),
    Injection("vmap_cat_unbatched", "spline"),
    Injection("jvp_sqrt", "vibrations"),
    Injection("jvp_norm", "kernel_blocks"),
    Injection("hessian_log", "sheet"),
)


def select(only: list[str]) -> list[Injection]:
    """The injections whose names begin with one of ``only``; all of them if that is empty.

    Raises:
        ValueError: a beginning fits none.
    """
    for text in only:
        if not any(injection.name.startswith(text) for injection in INJECTIONS):
            raise ValueError(f"no injection begins with {text!r}")
    return [i for i in INJECTIONS if not only or any(i.name.startswith(text) for text in only)]


HEALTHY = (
    Need("torch.sin({v}) * {v}", "vmap-hessian"),
    Need("torch.linalg.solve(torch.eye({v}.shape[0]) * 3 + torch.outer({v}, {v}), {v})", "jacfwd"),
    Need("torch.relu({v}) + {v}.abs()", "vmap-jacrev"),
    Need("torch.where({v} > 0, {v}, 0.1 * {v})", "vmap-jvp"),
    Need("torch.fft.rfft({v}).abs()[0] * {v}", "grad"),
    Need("torch.sort({v}).values.cumsum(0)", "jacrev-both"),
    Need("torch.einsum('i,j->i', {v}, {v})", "jvp-grad", "float64"),
    Need("torch.nn.functional.gelu({v})", "hessian-twice", "float64"),
    Need("torch.matmul(torch.tril(torch.ones({v}.shape[0], {v}.shape[0])), {v})", "vmap-out"),
    Need("torch.sigmoid({v}) / (1 + {v} ** 2)", "linearize"),
)


def healthy() -> dict[str, str]:
    """The text of each healthy program, by name: drawn ones, with operators that no plant touches, the hosts from the
    cases, and those in ``healthy/`` for what fools tools (kinks, rounding, randomness, integers, extras)."""
    found = {f"drawn_{need.use.replace('-', '_')}": draw(need, f"healthy {need.use}") for need in HEALTHY}
    for folder in ("from_cases", "healthy"):
        for path in sorted((FOLDER / folder).glob("*.py")):
            found[path.stem] = path.read_text(encoding="utf-8")
    return found

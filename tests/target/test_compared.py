"""What a failed check compared, and whether a program's own rules are right, on a real target."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from shrinkrepro.protocol import (
    CONTROL_DIFFERENCES,
    CONTROL_DIFFERENCES_STRICT,
    CONTROL_REFERENCE,
    CONTROL_STRICT,
    OK,
    RUN,
    Execution,
    Job,
)
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("script")
    (folder / "script.py").write_text("")
    with Pool(Target(python=sys.executable, script_path=folder / "script.py", cwd=folder), jobs=1) as pool:
        yield pool


def run(pool: Pool, source: str, mode: str = RUN) -> Execution:
    return pool.run([Job(source, mode=mode, timeout=60)])[0]


CLOSE = "torch.testing.assert_close"
X = "torch.tensor([1.0, 2.0, -4.0])"


@pytest.mark.parametrize(
    ("check", "kind", "relative"),
    [
        (f"{CLOSE}(x, x + torch.tensor([0.0, 0.5, 0.0]))", "value", 0.125),
        (f"{CLOSE}(x, -x)", "sign", 2.0),
        (f"{CLOSE}(x * torch.tensor([1.0, 0.0, 1.0]), x)", "zero", 0.5),
        (f"{CLOSE}((x - 1).log().nan_to_num(0), (x - 1).log())", "nan", 1.0),
        (f"{CLOSE}((x - 2).sqrt(), (x - 2).sqrt())", "nan on both sides", 1.0),
        (f"{CLOSE}(1 / (x - 1), x)", "inf", 1.0),
        (f"{CLOSE}(x, x[:2])", "shape", 1.0),
        (f"{CLOSE}(x, x.double())", "dtype", 1.0),
        (f"{CLOSE}({{'a': (x, x), 'b': [x]}}, {{'a': (x, x), 'b': [2 * x]}})", "value", 0.5),
        ("assert torch.allclose(x, 2 * x), 'text'", "value", 0.5),
        ("assert x.equal(2 * x)", "value", 0.5),
        ("assert (x - 3 * x).abs().max() < 1e-3", "value", 2 / 3),
        ("assert float(x.sum()) == 4.0", "value", 1.25),
        ("if not torch.allclose(x, 0 * x):\n    raise AssertionError('differs')", "zero", 1.0),
    ],
)
def test_the_difference_is_told(pool: Pool, check: str, kind: str, relative: float) -> None:
    found = run(pool, f"import torch\nx = {X}\n{check}\n").difference
    assert found is not None
    assert found["kind"] == kind
    assert found["relative"] == pytest.approx(relative, rel=1e-4)


@pytest.mark.parametrize("check", ["assert 0", "assert hidden(x)", "raise ValueError(x)", "assert not x.isnan().any()"])
def test_a_check_whose_values_do_not_show_is_left_alone(pool: Pool, check: str) -> None:
    source = f"import torch\nx = {X}\nhidden = lambda x: False\nx[0] = torch.nan\n{check}\n"
    execution = run(pool, source)
    assert execution.difference is None
    assert execution.status != OK


def test_looking_does_not_draw(pool: Pool) -> None:
    assert not run(pool, "import torch\nassert torch.allclose(torch.zeros(2), torch.zeros(2) + 1)\n").drew


FUNCTION = """\
import torch
from torch.func import jacfwd, vmap

class F(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return {backward} * ctx.saved_tensors[0] ** 2 * g

    @staticmethod
    def jvp(ctx, t):
        return {jvp} * ctx.saved_tensors[0] ** 2 * t

    @staticmethod
    def vmap(info, in_dims, x):
        return {vmap} * x**3, in_dims[0]

F.apply(torch.tensor([2.0], requires_grad=True)).sum().backward()
"""


@pytest.mark.parametrize("wrong", ["", "backward", "jvp", "vmap"])
def test_a_wrong_rule_of_the_programs_own_is_refused(pool: Pool, wrong: str) -> None:
    rules = {"backward": 3, "jvp": 3, "vmap": 1}
    rules[wrong or "jvp"] += 1 if wrong else 0
    source = FUNCTION.format(**rules)
    assert run(pool, source, CONTROL_REFERENCE).status == OK
    strict = run(pool, source, CONTROL_STRICT)
    assert (strict.status == OK) is not bool(wrong)
    if wrong:
        assert "a rule of F is not that of its forward" in strict.chain[-1].message


def test_a_rule_that_is_right_at_one_point_only_is_wrong(pool: Pool) -> None:
    source = FUNCTION.format(backward=3, jvp=3, vmap=1).replace("3 * ctx.saved_tensors[0] ** 2 * t", "12 * t")
    assert "a rule of F" in run(pool, source, CONTROL_STRICT).chain[-1].message


def test_a_wrong_rule_is_refused_by_differences_too(pool: Pool) -> None:
    right, wrong = FUNCTION.format(backward=3, jvp=3, vmap=1), FUNCTION.format(backward=4, jvp=3, vmap=1)
    assert run(pool, right, CONTROL_DIFFERENCES_STRICT).status == OK
    assert run(pool, wrong, CONTROL_DIFFERENCES).status == OK
    assert "a rule of F" in run(pool, wrong, CONTROL_DIFFERENCES_STRICT).chain[-1].message


MARKED = """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return {forward}, x * 5
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
    @staticmethod
    def backward(ctx, g, _):
        return g * 3
    @staticmethod
    def jvp(ctx, t):
        return t * 3, None
F.apply(torch.ones(2))
"""


def test_an_output_without_a_derivative_is_not_asked_for_one_and_a_constant_has_none(pool: Pool) -> None:
    assert run(pool, MARKED.format(forward="x * 3"), CONTROL_STRICT).chain == ()
    for forward in ("x * 2", "torch.ones(2)"):
        assert "a rule of F" in run(pool, MARKED.format(forward=forward), CONTROL_STRICT).chain[-1].message


def test_a_rule_that_cannot_be_checked_counts_as_right(pool: Pool) -> None:
    source = FUNCTION.format(backward=5, jvp=5, vmap=1).replace(
        "return x**3\n", "return torch.as_tensor(x.detach().numpy() ** 3)\n", 1
    )
    assert (
        run(
            pool, source.replace("    @staticmethod\n    def jvp", "    @staticmethod\n    def other"), CONTROL_STRICT
        ).chain
        == ()
    )


@pytest.mark.parametrize(
    ("function", "at", "slope"),
    [
        ("torch.where(x > 0, 1 / x, 0)", 0.0, 0.0),  # smooth on the left alone
        ("torch.where(x < 0, 1 / x, 3 * x)", 0.0, 3.0),  # on the right alone
        ("x.abs()", 0.0, 0.0),  # on both: what is between
        ("x**3", 2.0, 12.0),
    ],
)
def test_differences_at_a_kink_take_the_smooth_side(pool: Pool, function: str, at: float, slope: float) -> None:
    check = f"torch.testing.assert_close(grad(lambda x: {function})(x), torch.tensor({slope}, dtype=torch.float64))"
    source = f"import torch\nfrom torch.func import grad\nx = torch.tensor({at}, dtype=torch.float64)\n{check}\n"
    assert run(pool, source, CONTROL_DIFFERENCES).status == OK

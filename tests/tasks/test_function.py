"""Functions under transforms on a real target: what is found, what is told, and one reduction from end to end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkrepro.core.function_call import read_call
from shrinkrepro.core.transform_spec import parse_transform
from shrinkrepro.errors import UsageError
from shrinkrepro.session import Request
from shrinkrepro.tasks.function import Under, all_of
from shrinkrepro.tasks.function_trials import AGREES, FAILS, NO_REFERENCE, NOT_APPLICABLE, ROUNDING, Trial, Trials
from tests.cli.command import says_one_error, shrinkrepro

pytestmark = [pytest.mark.torch, pytest.mark.slow]

SCRIPT = """\
import torch
from factors import factor


class Halved(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad

    @staticmethod
    def jvp(ctx, tangent):
        return tangent / 2


class Rounded(Halved):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 1.0001 if tangent.element_size() == 4 else tangent


class ForwardOnly(Halved):
    @staticmethod
    def backward(ctx, grad):
        raise NotImplementedError("no backward")


class Once(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad


def wrong_jvp(x):
    return (Halved.apply(x * factor) ** 2).sum()


def once(x):
    return (Once.apply(x) ** 2).sum()


def branches(x):
    return x if x.sum() > 0 else -x


def healthy(params, x, scale=1.0):
    hidden = torch.tanh(x @ params["w"])
    return {"loss": (hidden * scale).sum(), "best": hidden.argmax()}


def dot(x, w):
    return x.dot(w).sin()


def noisy(x):
    return x + torch.rand_like(x)


x = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, 2.0]])
weights = torch.tensor([1.0, 2.0, -1.0])
params = {"w": torch.tensor([[1.0, 2.0], [3.0, -4.0], [0.5, 1.0]])}
if __name__ == "__main__":
    batch = torch.ones(2, 3)
    print(wrong_jvp(batch))
"""


# jvp of cholesky_inverse is wrong in torch 2.13
SMALL = """\
import torch
from sizes import size

def spread(a):
    return torch.cholesky_inverse(a) * 2

if __name__ == "__main__":
    raise SystemExit(spread(torch.ones(size, size)).sum())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "model.py").write_text(SCRIPT)
    (folder / "factors.py").write_text("factor = 3.0\n")
    return folder


@pytest.fixture(scope="module")
def trials(folder: Path) -> Iterator[Trials]:
    with Trials(Request(folder / "model.py", jobs=1)) as trials:
        yield trials


class Silent:
    """A progress that nobody watches."""

    def phase(self, text: str) -> None:
        """Say nothing."""

    step = query = note = phase


def tried(trials: Trials, function: str, transform: str, inputs: str, **more: str) -> Trial:
    transforms = parse_transform(transform)
    depth = transforms.count("vmap")
    call = read_call(trials.script.text, function, inputs, transforms, **more)
    [trial] = trials.try_calls([(call, trials.probe(call, (depth,)).observed(call, depth))])
    return trial


@pytest.mark.parametrize(
    ("function", "transform", "inputs", "outcome", "detail"),
    [
        ("wrong_jvp", "jvp", "x", FAILS, "values differ"),
        ("wrong_jvp", "vmap(jacfwd)", "batch", FAILS, "values differ"),
        ("wrong_jvp", "vmap(grad)", "x", AGREES, ""),
        ("Rounded.apply", "jvp", "x", ROUNDING, "agree in float64"),
        ("ForwardOnly.apply", "jvp", "x", NO_REFERENCE, "no backward"),
        ("branches", "vmap", "x", FAILS, "data-dependent control flow"),
        ("branches", "jvp", "x", AGREES, ""),
        ("once", "grad", "x[0]", AGREES, ""),
        ("once", "grad(jvp)", "x[0]", FAILS, "forward"),
        ("healthy", "grad(grad)", "params, x", NOT_APPLICABLE, "grad needs one number"),
        ("healthy", "grad", "params, x, scale=2.0", AGREES, ""),
        ("lambda v: v.sin()", "jacrev(jacfwd)", "x[0]", AGREES, ""),
        ("torch.nn.Linear(3, 2)", "vmap(vjp)", "x", AGREES, ""),
        ("healthy", "hessian", "params, x", AGREES, ""),
    ],
)
def test_how_calls_end(trials: Trials, function: str, transform: str, inputs: str, outcome: str, detail: str) -> None:
    trial = tried(trials, function, transform, inputs)
    assert (trial.outcome, detail in trial.detail) == (outcome, True), trial


@pytest.mark.parametrize(
    ("function", "transform", "inputs", "message", "hint"),
    [
        ("noisy", "vmap", "x", "another result each time", "manual_seed"),
        ("wrong_jvp", "vmap", "missing", "name 'missing' is not defined", "model.py"),
        ("torch.nosuch", "vmap", "x", "cannot be evaluated", "model.py"),
        ("healthy", "grad", "x", "missing 1 required positional argument", "healthy(params, x, scale=1.0)"),
        ("wrong_jvp", "vmap", "3", "raises with no transform", "--in-dims"),
    ],
)
def test_what_is_wrong_before_any_transform_is_told(
    trials: Trials, function: str, transform: str, inputs: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as told:
        tried(trials, function, transform, inputs)
    assert message in told.value.message
    assert hint in told.value.hint


def test_all_says_which_fail_and_what_to_type_next(folder: Path, trials: Trials) -> None:
    request = Request(folder / "model.py")
    result = all_of(trials, request, Under("wrong_jvp", "all", "x[0]"), Silent())
    outcomes = {row.transform: row.outcome for row in result.rows}
    assert {name for name, outcome in outcomes.items() if outcome == FAILS} == {
        name for name in outcomes if "jvp" in name or "jacfwd" in name or "hessian" in name
    }
    assert NO_REFERENCE not in outcomes.values()
    assert result.failing == sum(bool(row.command) for row in result.rows)
    [command] = [row.command for row in result.rows if row.transform == "vmap(jvp)"]
    assert command.endswith("--function wrong_jvp --transform 'vmap(jvp)' --inputs 'torch.stack([x[0], x[0] / 2])'")


def test_all_takes_a_batch_where_the_function_takes_one_sample(folder: Path, trials: Trials) -> None:
    under = Under("dot", "all", "x, weights", in_dims="0, None")
    result = all_of(trials, Request(folder / "model.py"), under, Silent())
    outcomes = {row.transform: row.outcome for row in result.rows}
    assert outcomes["vmap(grad)"] == outcomes["grad"] == outcomes["jacfwd(grad)"] == AGREES


def test_a_function_is_reduced_to_a_script_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "sizes.py").write_text("size = 3\n")
    (tmp_path / "model.py").write_text(SMALL)
    arguments = ["--function", "spread", "--transform", "jvp", "--inputs", "torch.ones(size, size)"]
    limits = ["--jobs", "1", "--budget", "8s"]  # to its end it would take a minute, and goldens do that
    done = shrinkrepro("reduce", "model.py", *arguments, "-o", "out.py", *limits, cwd=tmp_path)
    assert done.code == 0, done.err
    text = (tmp_path / "out.py").read_text()
    for kept in ("assert_close", "torch.func.jvp", "cholesky_inverse"):
        assert kept in text
    for gone in ("import sizes", "from sizes", "SystemExit"):
        assert gone not in text
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "out.py").write_text(text)
    run = subprocess.run([sys.executable, "out.py"], cwd=tmp_path / "alone", capture_output=True, text=True)
    assert "Tensor-likes are not close" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--transform", "vmap"], ("--transform needs --function",)),
        (["--function", "healthy"], ("needs --transform", "all")),
        (["--function", "healthy", "--transform", "vmap"], ("healthy(params, x, scale=1.0)", "'params, x'")),
        (["--function", "helthy", "--transform", "vmap", "--inputs", "x"], ("no helthy", "did you mean healthy?")),
        (["--function", "healthy", "--transform", "hess", "--inputs", "x"], ("did you mean hessian?",)),
    ],
)
def test_a_bad_command_is_one_clear_line(folder: Path, arguments: list[str], words: tuple[str, ...]) -> None:
    says_one_error(shrinkrepro("check", "model.py", *arguments, cwd=folder), 2, *words)

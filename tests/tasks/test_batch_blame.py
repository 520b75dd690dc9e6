"""What a failed comparison is blamed on, with bugs planted in torch: real runs in a warm server."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from benchmarks.batch_scripts import preload_of
from benchmarks.injected.index import FOLDER
from shrinkrepro.oracles.signature import signature_of
from shrinkrepro.protocol import OK, RUN, Job
from shrinkrepro.tasks.batch_blame import Blame, blame, is_comparison
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

pytestmark = pytest.mark.torch
LIMIT = 60.0

HOST = """\
import torch
from torch.func import grad, jvp, vmap

def energy(v):
    scaled = v / (1.0 + v.abs())
    return torch.sigmoid(scaled) * {inner} + 0.5 * v

x = torch.tensor([[0.5, 1.5, 0.7], [2.0, 0.3, 0.4]])
{lines}
{check}
"""
VMAP = "got, want = vmap(energy)(x), torch.stack([energy(v) for v in x])"
JVP = """\
got = jvp(energy, (x[0],), (torch.ones(3),))[1]
want = torch.autograd.functional.jvp(energy, x[0], torch.ones(3))[1]"""
CLOSE = "torch.testing.assert_close(got, want)"
RAISE = "if not torch.allclose(got, want, atol=1e-4):\n    raise RuntimeError(f'off by {(got - want).norm()}')"


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("blame")
    (folder / "plants.py").write_text(
        preload_of([FOLDER / "plants" / f"{p}.py" for p in ("vmap_softmax_dim", "jvp_sqrt")])
    )
    with Pool(Target(sys.executable, folder / "script.py", folder, preload=folder / "plants.py")) as pool:
        yield pool


def blamed(pool: Pool, text: str) -> Blame:
    [first] = pool.run([Job(text, RUN, LIMIT, alone=True)])
    signature = signature_of(first)
    assert signature is not None
    assert is_comparison(signature, first, text)
    return blame(pool, text, LIMIT)


@pytest.mark.parametrize("check", [CLOSE, RAISE])
def test_a_wrong_batching_rule_is_blamed_however_the_script_checks(pool: Pool, check: str) -> None:
    found = blamed(pool, HOST.format(inner="torch.softmax(v, 0)", lines=VMAP, check=check))
    assert found == Blame(("softmax",), ("vmap", "all"))
    assert found.words() == "softmax under vmap"


def test_a_wrong_derivative_is_blamed_by_its_operator(pool: Pool) -> None:
    found = blamed(pool, HOST.format(inner="v.sqrt()", lines=JVP, check=CLOSE))
    assert found == Blame(("sqrt",), ("forward", "all"))


def test_a_check_that_no_transform_makes_fail_is_blamed_on_nothing(pool: Pool) -> None:
    lines = "got, want = vmap(energy)(x), x"
    found = blamed(pool, HOST.format(inner="torch.sin(v)", lines=lines, check=CLOSE))
    assert not found.known


def test_a_neutral_operator_changes_no_line_that_no_transform_reaches(pool: Pool) -> None:
    text = "import torch\n\nx = torch.vmap(torch.sin)(torch.ones(2))\nassert torch.sin(torch.ones(2)).max() > 0.8\n"
    [seen] = pool.run([Job(text, "neutral:;;", LIMIT, alone=True)])
    assert [(found["operator"], found["lines"]) for found in seen.findings] == [("torch.sin", [3])]
    only, both = pool.run([Job(text, f"neutral:;{lines};torch.sin", LIMIT, alone=True) for lines in ("3", "3,4")])
    assert only.status == OK
    assert both.status != OK

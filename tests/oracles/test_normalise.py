"""The normaliser: against messages that torch raises in the test, and properties of its own."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.oracles.normalise import first_sentence, inner_text, normalise, sentence_of

RAISE = Path(__file__).parent / "raise_catalogue.py"


def form(kind: str, message: str) -> str:
    return sentence_of(*(inner_text(kind, message) or (kind, message)))


@pytest.fixture(scope="module")
def catalogue() -> Mapping[str, tuple[str, str, str]]:
    """Entry -> type, and two messages of it with other shapes, names and levels, as torch raised them just now."""
    done = subprocess.run([sys.executable, str(RAISE)], capture_output=True, text=True, check=True)
    entries = {}
    for line in done.stdout.splitlines():
        entry, kinds, first, second = json.loads(line)
        assert len(kinds) == 1, (entry, kinds)
        entries[entry] = (kinds[0], first, second)
    return entries


@pytest.mark.torch
@pytest.mark.slow
def test_what_varies_between_two_programs_goes(catalogue: Mapping[str, tuple[str, str, str]]) -> None:
    forms = {entry: (form(kind, a), form(kind, b)) for entry, (kind, a, b) in catalogue.items()}
    assert {entry: pair for entry, pair in forms.items() if pair[0] != pair[1]} == {}
    assert len(forms) >= 25
    # Without the normaliser most of them would differ: the test does not pass by raising one message twice.
    assert sum(a != b for _, a, b in catalogue.values()) >= len(catalogue) // 3


@pytest.mark.torch
@pytest.mark.slow
def test_two_failures_keep_two_forms(catalogue: Mapping[str, tuple[str, str, str]]) -> None:
    forms = {entry: form(kind, a) for entry, (kind, a, _) in catalogue.items()}
    same = [(a, b, forms[a]) for a, b in itertools.combinations(forms, 2) if forms[a] == forms[b]]
    assert same == []
    assert all(forms.values())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # numbers that change between runs of one program, paths and lines between builds
        ("got 3 of 0x7f00ff", "got 4 of 0x7fa000"),
        ('x.defined() INTERNAL ASSERT FAILED at "/__w/pytorch/a.cpp":132, please report. One', 
         'x.defined() INTERNAL ASSERT FAILED at "../aten/a.cpp":181, please report. Two 3'),
        ("bad tensor([[1., 2.],\n        [3., 4.]]) here", "bad tensor(0.5, grad_fn=<MulBackward0>) here"),
        ("no file /home/me/run/data.py, line 3", "no file /srv/data.py, line 77"),
        ("\x1b[31mred\x1b[0m 1", "red 2"),
        ("max gap 0.3547 after 1e-3", "max gap 1.2e+05 after 7"),
        ("gap nan", "gap 0.25"),
        ("function NetBackward returned 2 values", "function MyOpGeneratedBackward returned 3 values"),
        ("'Net' object has no attribute 'weight'", "'A' object has no attribute 'weight'"),
        ("step() missing 1 required positional argument: 'x'", "f() missing 1 required positional argument: 'ab'"),
        ("module 'torch' has no attribute 'vmp'. Did you mean: 'vmap'?", "module 'torch' has no attribute 'vmp'"),
        ("see https://pytorch.org/docs/main for x", "see https://docs.pytorch.org/stable for x"),
        ("Tried to allocate 20.00 MiB", "Tried to allocate 1.5 GiB"),
    ],
)  # fmt: skip
def test_accidents_go(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("expected scalar type BFloat16 but found Float", "expected scalar type Half but found Float"),
        ("not implemented for aten::gru.input", "not implemented for aten::lstm.input"),
        ("torch.float32 != torch.bfloat16", "torch.float32 != torch.float64"),
        ("output of SigmoidBackward0", "output of MulBackward0"),
        ("name 'x' is not defined", "name 'y' is not defined"),
        ("'Tensor' object has no attribute 'a'", "'NoneType' object has no attribute 'a'"),
        ("expected all tensors on cuda:0", "expected all tensors on cpu"),
    ],
)
def test_what_names_the_failure_stays(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_the_first_sentence() -> None:
    assert first_sentence("It fails, e.g. here. Then more.") == "It fails, e.g. here"
    assert first_sentence("aten::gru.input. We could not") == "aten::gru.input"
    assert first_sentence("Errors:\n  one\n  two") == "Errors: one"
    assert first_sentence("\n\n") == ""


def test_inner_texts() -> None:
    fake = "RuntimeError when making fake tensor call\n  Explanation: f(*(1,)): got ValueError(\"it's \\\\n 'off'\")\n"
    assert inner_text("torch._dynamo.exc.TorchRuntimeError", fake) == ("ValueError", "it's \\n 'off'")
    assert inner_text("torch._dynamo.exc.InternalTorchDynamoError", "KeyError: 'a'\n\nfrom user code:") == (
        "KeyError",
        "'a'\n\nfrom user code:",
    )
    assert inner_text("RuntimeError", "ValueError: not a wrapper") is None


@given(st.text(max_size=200))
def test_a_normal_form_is_one(text: str) -> None:
    once = normalise(text)
    assert "\n" not in once
    assert normalise(text) == once


@given(
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.sampled_from(["size [{}, 4]", "lvl={}", "{} elements", "at ({}, 2)"]),
)
def test_any_number_is_as_good_as_any(a: int, b: int, template: str) -> None:
    assert normalise("dim " + template.format(a)) == normalise("dim " + template.format(b)) or {a, b} & {1}

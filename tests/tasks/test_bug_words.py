"""The words of a report, made from a signature and a program's text."""

from __future__ import annotations

import pytest

from shrinkrepro.oracles.mismatch import Difference
from shrinkrepro.oracles.places import Place
from shrinkrepro.oracles.signature import Signature
from shrinkrepro.protocol import SIGNAL, Execution
from shrinkrepro.tasks.bug_words import Words, telling

GRU = "import torch\n\ntorch.vmap(torch.nn.GRU(1, 1))(torch.zeros(1, 1, 1))\n"
MISSING = Signature(
    "exception",
    type="RuntimeError",
    sentence="Batching rule not implemented for aten::gru.input",
    where=Place("torch/nn/modules/rnn.py", "forward"),
    levels=("vmap",),
)
INVERSE = "import torch\ntorch.testing.assert_close(torch.func.jvp(torch.cholesky_inverse, (a,), (a,))[1], b)\n"
WRONG = Signature("mismatch", type="AssertionError", sentence="Tensor-likes are not close")
CTC = "import torch\none = torch.ones(1)\ntorch.ctc_loss(one, one, one, one)\n"


def test_a_title_names_the_transforms_the_operator_and_the_failure() -> None:
    words = Words(GRU, MISSING)
    assert words.title() == "vmap of nn.GRU: RuntimeError: Batching rule not implemented for aten::gru.input"
    assert words.summary() == (
        "`vmap` of `torch.nn.GRU` raises `RuntimeError` in `forward` (torch/nn/modules/rnn.py): "
        "Batching rule not implemented for aten::gru.input."
    )
    assert words.query() == ('repo:pytorch/pytorch is:issue "Batching rule not implemented for aten::gru.input" GRU')
    assert words.labels(False) == ("module: functorch", "module: vmap", "module: rnn", "module: nn")


def test_a_wrong_number_has_its_size_and_no_text_of_assert_close() -> None:
    words = Words(INVERSE, WRONG, Difference("value", 0.333))
    assert words.title() == "jvp of cholesky_inverse: wrong result (values differ by 0.33 of the largest)"
    assert words.query() == "repo:pytorch/pytorch is:issue jvp cholesky_inverse"
    assert "module: correctness (silent)" in words.labels(False)
    assert words.expected(["a loop for vmap"]) == "the two values agree, as they do with a loop for vmap."
    assert words.umbrellas()


def test_a_crash_without_a_transform() -> None:
    words = Words(CTC, Signature("crash", signal=11))
    assert words.title() == "ctc_loss: crash by SIGSEGV"
    assert (
        words.summary("1 for 2") == "`torch.ctc_loss` crashes by SIGSEGV. With one thing exchanged (1 for 2) it passes."
    )
    assert words.labels(True) == ("module: crash", "module: regression")
    assert words.expected([]) == "no crash: the program ends normally or raises an exception."
    assert words.expected(["torch 2.0.1"]).endswith("raises an exception, as it does with torch 2.0.1.")
    stderr = "Fatal Python error: Segmentation fault\n\nExtension modules: numpy (total: 1)\n"
    assert telling(Execution(status=SIGNAL, stderr=stderr)) == "Fatal Python error: Segmentation fault"


@pytest.mark.parametrize(
    ("transform", "levels", "told"),
    [
        ("vjp", ("grad",), False),
        ("jacfwd", ("vmap", "jvp"), False),
        ("vjp", ("vmap", "grad"), True),
        ("vjp", (), False),
    ],
)
def test_levels_are_told_where_the_transforms_do_not_say_them(
    transform: str, levels: tuple[str, ...], told: bool
) -> None:
    signature = Signature("exception", type="RuntimeError", sentence="no", levels=levels)
    words = Words(f"import torch\ntorch.func.{transform}(torch.sin)(x)\n", signature)
    assert (", under " in words.summary()) == told


def test_compile_is_called_by_its_full_name_in_a_sentence() -> None:
    words = Words("import torch\ntorch.compile(torch.vmap(torch.sin))(x)\n", Signature("hang"))
    assert words.title() == "compile of vmap of sin: hang"
    assert words.expected(["not compiled"]) == "the program ends normally, as it does not compiled."
    assert words.summary() == "`torch.compile` of `vmap` of `torch.sin` does not end."


def test_a_title_has_the_messages_own_words_where_the_signature_lost_them() -> None:
    signature = Signature("exception", type="RuntimeError", sentence="You tried to vmap over <name>, but no")
    words = Words("import torch\ntorch.vmap(F)(x)\n", signature, None, "You tried to vmap over F, but no\nMore.")
    assert words.title() == "vmap: RuntimeError: You tried to vmap over F, but no"
    assert '"You tried to vmap over"' in words.query()


def test_a_long_message_is_cut_once() -> None:
    words = Words(GRU, Signature("exception", type="E", sentence="a b " * 90))
    assert words.summary().endswith(" a…")


@pytest.mark.parametrize("kind", ["exception", "mismatch", "crash", "hang", "exit", "warning"])
def test_every_kind_has_words(kind: str) -> None:
    words = Words("x = 1\n", Signature(kind, type="E", sentence="a b " * 90))
    assert 0 < len(words.title()) <= 140
    assert words.summary().startswith("The program ")
    assert len(words.query()) <= 200
    assert words.expected([]).endswith(".")

"""The neighbourhood as texts: what is exchanged, and that nothing else is."""

from __future__ import annotations

import ast
import difflib
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkrepro.corpus import block
from shrinkrepro.oracles.signature import Signature
from shrinkrepro.protocol import EXCEPTION, OK, Execution, Frame, Raised
from shrinkrepro.tasks.compared_values import printing
from shrinkrepro.tasks.explain import _crashed_elsewhere, _described, _ill_formed
from shrinkrepro.tasks.neighbour_text import Text, with_keyword
from shrinkrepro.tasks.neighbours import GROUPS, neighbours

CORPUS = sorted((Path(__file__).resolve().parents[2] / "corpus").glob("*.py"))


def made(source: str, checked: bool = False, **more: object) -> dict[str, str]:
    """The neighbours of ``source`` as title and text."""
    return {one.title: one.source for one in neighbours(source, checked=checked, **more)}  # type: ignore[arg-type]


def test_each_transform_goes_and_stands_alone() -> None:
    found = made("import torch\n\ntorch.vmap(torch.func.grad(bool))(torch.zeros(1))\n")
    assert "\nbool(torch.zeros(1))" in found["no transform at all, the function as it is"]
    assert "\ntorch.func.grad(bool)(torch.zeros(1))" in found["without vmap"]
    assert "\ntorch.vmap(bool)(torch.zeros(1))" in found["without grad"]
    assert "\ntorch.func.grad(torch.vmap(bool))(torch.zeros(1))" in found["grad of vmap for vmap of grad"]


def test_a_lambda_that_is_called_gets_parentheses() -> None:
    found = made("import torch\nf = torch.vmap(lambda x: x.item())(torch.zeros(3))\n")
    assert "f = (lambda x: x.item())(torch.zeros(3))" in found["the function as it is, without vmap"]


def test_forward_mode_has_its_other_ways() -> None:
    found = made("from torch.func import jvp\nimport torch\njvp(torch.exp, (torch.ones(2),), (torch.ones(2),))\n")
    assert "\ntorch.exp(torch.ones(2))" in found["the function as it is, without jvp"]
    name = "reverse mode twice for forward mode: autograd.functional.jvp"
    assert "\ntorch.autograd.functional.jvp(torch.exp, (torch.ones(2),)" in found[name]


def test_of_a_check_only_what_has_the_same_values_is_made() -> None:
    source = "import torch\ntorch.testing.assert_close(torch.func.jacfwd(torch.sin)(torch.ones(2)), torch.eye(2))\n"
    groups = {one.group for one in neighbours(source, checked=True)}
    assert "reference" in groups
    assert not groups & {"transforms", "operator", "size", "values"}


def test_sizes_go_together_and_alone() -> None:
    found = made("import torch\ntorch.vmap(torch.dot)(torch.zeros(27, 1), torch.ones(27, 1))\n")
    assert "torch.zeros(0, 1), torch.ones(0, 1)" in found["every size 27 made 0"]
    assert "torch.zeros(13, 1), torch.ones(13, 1)" in found["every size 27 made 13"]
    assert "torch.zeros(2, 1), torch.ones(27, 1)" in found["the first size 27 alone made 2"]


def test_dtypes_are_exchanged_where_they_are_named() -> None:
    found = made("import torch\nx = torch.ones(2, dtype=torch.float64).float()\n")
    assert (
        "torch.set_default_dtype(torch.bfloat16)\nx = torch.ones(2, dtype=torch.bfloat16).to(torch.bfloat16)"
        in (found["bfloat16"])
    )
    assert "torch.ones(2, dtype=torch.complex64)" in found["complex64"]


def test_integers_stay_integers() -> None:
    found = made("import torch\ntorch.vmap(torch.bincount)(torch.zeros(2, 3, dtype=torch.long))\n")
    assert "complex64" not in found
    assert "every tensor requires a gradient" not in found
    assert "0.5 in every tensor" not in found


def test_a_compiled_program_gets_other_backends_and_none() -> None:
    source = 'import torch\n\n\n@torch.compile(backend="eager")\ndef f():\n    pass\n\n\nf()\n'
    found = made(source, compiler=True)
    assert found["not compiled"] == "import torch\n\n\ndef f():\n    pass\n\n\nf()\n"
    assert '@torch.compile(backend="inductor")' in found["backend inductor"]
    assert "backend eager" not in found
    assert "backend inductor" not in made(source)


def test_a_custom_function_is_exchanged_for_an_operator() -> None:
    source = "import torch\n\n\nclass F(torch.autograd.Function):\n    pass\n\n\ntorch.vmap(F.apply)(torch.zeros(1))\n"
    assert "torch.vmap(torch.exp)(torch.zeros(1))" in made(source)["torch.exp in place of F.apply"]


def test_a_module_is_exchanged_for_one_that_does_nothing() -> None:
    found = made("import torch\ntorch.vmap(torch.nn.Bilinear(1, 1, 1))(x, x)\n")
    assert "torch.vmap(torch.nn.Identity(1, 1, 1))(x, x)" in found["torch.nn.Identity in place of torch.nn.Bilinear"]


def test_one_operator_in_two_lines_is_told_apart() -> None:
    found = made("import torch\nx = torch.mul(1, 2)\ny = torch.mul(3, 4)\nz = torch.mul(5, torch.mul(6, 7))\n")
    assert "\nx = torch.add(1, 2)\n" in found["torch.add in place of torch.mul, in line 2"]
    assert "\ny = torch.add(3, 4)\n" in found["torch.add in place of torch.mul, in line 3"]
    assert "torch.add(5, torch.mul" in found["torch.add in place of torch.mul, in line 4"]
    assert "torch.mul(5, torch.add" in found["torch.add in place of torch.mul, in line 4 (2)"]


@pytest.mark.parametrize(
    ("call", "halves", "zeros"),
    [
        ("torch.ones(2)", "torch.full((2,), 0.5)", "torch.zeros(2)"),
        ("torch.ones(n, 3)", "torch.full((n, 3), 0.5)", "torch.zeros(n, 3)"),
        ("torch.ones((n, 3))", "torch.full((n, 3), 0.5)", "torch.zeros((n, 3))"),
        ("torch.ones(n)", "torch.full_like(torch.ones(n), 0.5)", "torch.zeros_like(torch.ones(n))"),
        ("torch.ones(*n)", "torch.full_like(torch.ones(*n), 0.5)", "torch.zeros_like(torch.ones(*n))"),
        (
            "torch.randn(2, generator=g, requires_grad=True)",
            "torch.full_like(torch.randn(2, generator=g, requires_grad=True), 0.5, requires_grad=True)",
            "torch.zeros_like(torch.randn(2, generator=g, requires_grad=True), requires_grad=True)",
        ),
    ],
)
def test_other_values_are_made_whatever_the_shape_is_written_as(call: str, halves: str, zeros: str) -> None:
    found = made(f"import torch\nx = {call}\n")
    assert found["0.5 in every tensor"] == f"import torch\nx = {halves}\n"
    assert found["zeros in every tensor"] == f"import torch\nx = {zeros}\n"


@pytest.mark.parametrize(
    ("kind", "message", "none"),
    [
        ("TypeError", "full(): argument 'size' (position 1) must be tuple of ints, not int", True),
        ("TypeError", "mul(): received an invalid combination of arguments", True),
        ("TypeError", "f() missing 1 required positional argument: 'x'", True),
        ("TypeError", "can't convert cuda:0 device type tensor to numpy", False),
        ("RuntimeError", "mul() got an unexpected keyword argument", False),
    ],
)
def test_what_is_called_wrongly_is_no_neighbour(kind: str, message: str, none: bool) -> None:
    run = Execution(status=EXCEPTION, chain=(Raised(kind, message, ()),))
    assert _ill_formed(run) == none


@pytest.mark.parametrize(
    ("its", "same"),
    [
        (Signature("crash", signal=11), True),
        (Signature("crash", signal=11, levels=("jvp",), crash_frames=("a.py:f",)), True),
        (Signature("crash", signal=6, levels=("vmap",)), False),
        (Signature("exception", type="RuntimeError"), False),
        (None, False),
    ],
)
def test_a_crash_is_the_same_under_other_transforms(its: Signature | None, same: bool) -> None:
    assert _crashed_elsewhere(Signature("crash", signal=11, levels=("vmap",)), its) == same


def test_an_exception_of_the_same_words_may_be_another_bug_under_other_transforms() -> None:
    mine = Signature("exception", type="RuntimeError", sentence="no", levels=("vmap",))
    assert not _crashed_elsewhere(mine, replace(mine, levels=()))


def test_another_failure_is_told_with_its_numbers() -> None:
    frame = Frame("script.py", 1, "f", False)
    run = Execution(status=EXCEPTION, chain=(Raised("RuntimeError", "2 and 3 do not fit.\nMore", (frame,)),))
    assert _described(run) == "RuntimeError: 2 and 3 do not fit, raised in the program's own code"
    assert _described(Execution(status=OK)) == ""


def test_numbers_of_the_program_are_exchanged_one_by_one() -> None:
    found = made("import torch\nx = torch.ones(7)[1]\ntorch.vmap(lambda y: y << 40)(x)\n")
    assert "y << 0)" in found["the number 40 in line 3 made 0"]
    assert "y << 41)" in found["the number 40 in line 3 made 41"]
    assert not any("number 1 " in title or "number 7 " in title for title in found)
    twice = made("import torch\ntorch.vmap(lambda y: y * 3 + 3)(torch.ones(2))\n")
    assert "y * 3 + 0)" in twice["the second number 3 in line 2 made 0"]


def test_another_device_is_one_that_is_there() -> None:
    source = "import torch\ntorch.vmap(bool)(torch.zeros(1))\n"
    assert "cuda" not in made(source)
    assert "set_default_device('cuda')" in made(source, devices=("cpu", "cuda"))["cuda"]


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_each_neighbour_of_the_corpus_is_one_small_change(path: Path) -> None:
    source = block.program(path.read_text(encoding="utf-8"))
    found = neighbours(source, checked=False, devices=("cpu", "cuda"), compiler=True)
    assert found == neighbours(source, checked=False, devices=("cpu", "cuda"), compiler=True)
    assert len({one.source for one in found}) == len(found)
    assert len({(one.group, one.title) for one in found}) == len(found)
    for one in found:
        assert one.group in GROUPS
        assert one.source != source
        ast.parse(one.source)
        if one.group != "device":  # printed anew
            alike = difflib.SequenceMatcher(None, source, one.source, autojunk=False).ratio()
            assert alike > 0.5, (one.title, one.source)


def test_text_counts_characters_not_bytes() -> None:
    text = Text("import torch\nname = 'äöü'; x = torch.zeros(1)  # ü\n")
    [(call, name)] = text.factories()
    assert (text.of(call), name) == ("torch.zeros(1)", "zeros")
    assert text.replaced({call: "0"}) == "import torch\nname = 'äöü'; x = 0  # ü\n"


@pytest.mark.parametrize(
    ("call", "new"),
    [
        ("f()", "f(k=1)"),
        ("f(a)", "f(a, k=1)"),
        ("f(a,)", "f(a, k=1)"),
        ("f(a, k=2)", "f(a, k=1)"),
        ("f(\n    a,\n)", "f(\n    a, k=1)"),
    ],
)
def test_a_keyword_is_set(call: str, new: str) -> None:
    text = Text(call)
    node = text.tree.body[0].value  # type: ignore[attr-defined]
    assert with_keyword(text, node, "k", "1") == new


def test_the_values_of_the_last_check_are_printed() -> None:
    source = "import torch\nassert torch.allclose(a, b)\ntorch.testing.assert_close(\n    got(1), want,\n)\n"
    shown = printing(source)
    assert shown is not None
    assert shown.endswith("print(got(1)); print('--- expected ---'); print(want)\n")
    assert printing("import torch\nassert x > 0\n") is None

"""Scopes agree with Python's own symbol tables, and the static filter refuses only what is certain."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.core.program import Program
from shrinkrepro.core.scopes import Binding
from shrinkrepro.core.static import refusal, unimported

SOURCE = """
import os.path as p
x = 1
class C:
    x = 2
    def f(self, y=x):
        global g
        g = x
        return [x + y for y in self if (z := y)], z
def outer(a):
    b = a
    def inner():
        nonlocal b
        b = lambda a: a + b
    return inner
"""


def uses(program: Program, scope: tuple[str | int, ...], name: str) -> int:
    return len(program.scopes.uses.get(Binding(scope, name), []))


def test_names_mean_what_python_says() -> None:
    program = Program.parse(SOURCE)
    klass = ("body", 2)
    method = (*klass, "body", 1)
    outer = ("body", 3)
    assert uses(program, (), "x") == 2  # in the method's body and in the comprehension, not in the class
    assert uses(program, klass, "x") == 1  # the default
    assert uses(program, method, "z") == 1  # bound by := inside a comprehension
    assert uses(program, method, "y") == 0  # the comprehension's y is another
    assert uses(program, outer, "b") == 1
    assert len(program.scopes.definitions[Binding(outer, "b")]) == 2
    assert Binding((), "g") in program.scopes.definitions
    assert program.scopes.unbound == []


def test_lookup_follows_the_place() -> None:
    program = Program.parse(SOURCE)
    assert program.scopes.lookup(("body", 3, "body", 1, "body", 1, "value"), "a") == Binding(
        ("body", 3, "body", 1, "body", 1, "value"), "a"
    )
    assert program.scopes.lookup(("body", 2, "body", 1, "body", 0), "x") == Binding((), "x")
    assert program.scopes.lookup(("body", 1), "nothing") is None


@given(st.sampled_from(["x = y", "def f(a): return a + b", "print(undefined)", "[i for i in j]", "class A(B): pass"]))
def test_a_name_that_nothing_binds_is_refused(source: str) -> None:
    program = Program.parse(source)
    assert program.scopes.unbound
    name = program.node(program.scopes.unbound[0])
    assert isinstance(name, ast.Name)
    assert refusal(source) == f"nothing binds {name.id!r}"


@pytest.mark.parametrize(
    "source",
    [
        "return 1",
        "def f():\n    nonlocal x",
        "f(a=1, a=2)",
        "x = 1 +",
        "try:\n    pass\nexcept:\n    pass\nexcept E:\n    pass",
    ],
)
def test_what_does_not_compile_is_refused(source: str) -> None:
    assert refusal(source).startswith("does not compile")


WARM = frozenset({"torch", "torch.func", "torch.utils", "torch.utils.checkpoint"})
BASE = frozenset({"torch", "torch.func", "torch.utils"})


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ("import torch\ntorch.utils.checkpoint.checkpoint(1)", True),
        ("import torch.utils.checkpoint\ntorch.utils.checkpoint.checkpoint(1)", False),
        ("import torch\nfrom torch.utils.checkpoint import checkpoint\ntorch.utils.checkpoint.checkpoint(1)", False),
        ("from torch import utils\nutils.checkpoint.checkpoint(1)", True),
        ("import torch\ntorch.func.vmap(1)", False),
        ("from torch.utils import checkpoint\ncheckpoint.checkpoint(1)", False),
    ],
)
def test_a_module_that_only_a_warm_server_has_is_a_missing_name(source: str, refused: bool) -> None:
    assert bool(refusal(source, WARM, BASE)) is refused


def test_what_a_running_program_reaches_without_an_import_is_named() -> None:
    warm = WARM | {"numpy", "numpy.random"}
    source = "import numpy as np\nimport torch\nrng = np.random.default_rng(0)\ntorch.func.vmap(rng)"
    assert unimported(source, warm, BASE) == {"numpy.random"}
    assert not refusal(source, warm, BASE | unimported(source, warm, BASE))
    assert not unimported("import numpy.random\nnumpy.random.seed(0)", warm, BASE)

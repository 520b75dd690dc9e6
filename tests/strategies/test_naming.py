"""Renamings keep every name's meaning; import styles keep what every name stands for."""

# ruff: noqa: E501  (a program stays on one line where that shows its form better)

from __future__ import annotations

import contextlib
import io
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shrinkrepro_strategies.import_style import LOADED, import_package, import_style
from shrinkrepro_strategies.naming import KEPT, rename

from shrinkrepro.core import order
from shrinkrepro.core.apply import apply
from shrinkrepro.core.edits import Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Strategy


def candidates(strategy: Strategy, program: Program) -> list[Program]:
    return [Program.parse(apply(program, [edit])) for edit in strategy.propose(program, Facts.none())]


def renamed(source: str) -> str:
    """``source`` after the edit that renames all (or the only one)."""
    program = Program.parse(source)
    found = candidates(rename, program)
    return found[0].source if found else program.source


def settled(program: Program, strategy: Strategy) -> Program:
    for _ in range(5):
        better = [c for c in candidates(strategy, program) if order.key(c) < order.key(program)]
        if not better:
            return program
        program = better[0]
    raise AssertionError("no fixpoint after five rounds")


def partition(program: Program) -> set[frozenset[Path]]:
    """The paths of all names, grouped by the binding that they mean."""
    scopes = program.scopes
    return {frozenset([*paths, *scopes.uses.get(b, ())]) for b, paths in scopes.definitions.items()}


def output(program: Program) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program.source, "program", "exec"), {"__name__": "__main__"})
    return out.getvalue()


CASES = {
    "variables": ("tensor_a = 1.5\nseen = [tensor_a]\nprint(seen)", "x = 1.5\nout = [x]\nprint(out)"),
    "conventional names stay": ("x = 1\nmodel = 2\nL = 3\nA = 4\nparams = 5\nprint(x, model, L, A, params)", None),
    "what torch calls them stays": (
        "class A:\n    def setup_context(ctx, inputs, output):\n        pass\nA().setup_context(2, 3)",
        None,
    ),
    "functions and parameters": (
        "def registration_error(pose, view):\n    return pose - view\nprint(registration_error(1, view=2))",
        "def f(x, y):\n    return x - y\nprint(f(1, y=2))",
    ),
    "a lambda beside its argument": (
        "value = 2.0\nprint((lambda item: item + 1)(value))",
        "x = 2.0\nprint((lambda x: x + 1)(x))",
    ),
    "no capture": (
        "offset = 2.0\nprint((lambda item: item + offset)(3))",
        "x = 2.0\nprint((lambda y: y + x)(3))",
    ),
    "a class is one word": (
        "class SquareFunction:\n    pass\nclass Step:\n    pass\nprint(SquareFunction, Step)".replace("print", "repr"),
        "class Square:\n    pass\n\nclass Step:\n    pass\nrepr(Square, Step)",
    ),
    "attributes and methods stay": (
        "class A:\n    size_of = 3\n    def compute(self, value):\n        return value + self.size_of\nprint(A().compute(value=1))",
        "class A:\n    size_of = 3\n\n    def compute(self, x):\n        return x + self.size_of\nprint(A().compute(x=1))",
    ),
    "library keywords stay": (
        "def total(key):\n    return key\nprint(sorted([2, 1], key=total))",
        "def f(x):\n    return x\nprint(sorted([2, 1], key=f))",
    ),
    "uncertain keywords stay": (
        "def total(key):\n    return key\ndef wrap(x):\n    return x\nfunction = wrap(total)\nprint(function(key=1))",
        "def f(key):\n    return key\n\ndef g(x):\n    return x\nh = g(f)\nprint(h(key=1))",
    ),
    "keywords of a class": (
        "class A:\n    def __init__(self, width):\n        self.width = width\nprint(A(width=2.0).width)",
        "class A:\n\n    def __init__(self, x):\n        self.width = x\nprint(A(x=2.0).width)",
    ),
    "methods of one name": (
        "class A:\n    def go(self, width):\n        return width\nclass B(A):\n    def go(self, width):\n        return super().go(width=width)\nprint(B().go(3.0))",
        None,
    ),
    "partial": (
        "from functools import partial\ndef scale(value, factor):\n    return value * factor\nprint(partial(scale, factor=2)(3))",
        "from functools import partial\n\ndef f(x, y):\n    return x * y\nprint(partial(f, y=2)(3))",
    ),
    "keywords in a dictionary": (
        "def scale(value):\n    return value\nprint(scale(**{'value': 2}))",
        "def f(value):\n    return value\nprint(f(**{'value': 2}))",
    ),
    "a lambda called at once": ("print((lambda value: value)(value=2))", "print((lambda x: x)(x=2))"),
    "global and nonlocal": (
        "count = 0\ndef step():\n    global count\n    count += 1\n    inner = 1\n    def deep():\n        nonlocal inner\n"
        "        inner += count\n        return inner\n    return deep()\nprint(step())",
        "n = 0\n\ndef f():\n    global n\n    n += 1\n    m = 1\n\n    def g():\n        nonlocal m\n        m += n\n        return m\n    return g()\nprint(f())",
    ),
    "imports are not hidden": (
        "from math import e as x\nvalue = 1.0\nprint(x, value)",
        "from math import e as x\ny = 1.0\nprint(x, y)",
    ),
    "loops": ("for index in range(2):\n    print(index)", "for i in range(2):\n    print(i)"),
    "locals() stops it": ("value = 1\nprint(sorted(locals())[-1:])", None),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES.keys())
def test_rename(before: str, after: str | None) -> None:
    program = Program.parse(before)
    text = renamed(before)
    assert text == (program.source if after is None else after)
    assert partition(Program.parse(text)) == partition(program)


# Programs of nested scopes that read one another's names

WORDS = ["alpha", "beta", "gamma", "x", "f", "y", "n", "i"]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    lines: list[str] = []
    bound: list[str] = []

    def value(names: list[str]) -> str:
        if not names or draw(st.booleans()):
            return str(draw(st.integers(1, 9)))
        name = draw(st.sampled_from(names))
        form = draw(st.integers(0, 3))
        inner = draw(st.sampled_from(WORDS))
        if form == 0:
            return f"sum([{inner} + {name} for {inner} in range(3)])" if inner != name else name
        if form == 1:
            return f"(lambda {inner}: {inner} * {draw(st.sampled_from([*names, inner]))})({name})"
        return name

    for number in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(WORDS))
        lines.append(f"{name} = {value(bound)}")
        if name not in bound:
            bound.append(name)
        function = f"function_{number}"
        parameters = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True))
        local = draw(st.sampled_from([w for w in WORDS if w not in parameters]))
        lines.append(f"def {function}({', '.join(parameters)}):")
        inside = [*parameters, *(b for b in bound if b != local)]
        if draw(st.booleans()) and local in bound:
            lines.append(f"    global {local}")
            lines.append(f"    {local} = {local} + {value(inside)}")
        else:
            lines.append(f"    {local} = {value(inside)}")
        nested = draw(st.sampled_from(WORDS))
        lines.append(f"    def helper({nested}):\n        return {nested} + {value([*inside, local, nested])}")
        lines.append(f"    return helper({value([*inside, local])}) + {local}")
        given_by = ", ".join(f"{p}={i}" if draw(st.booleans()) or i else str(i) for i, p in enumerate(parameters))
        lines.append(f"print({function}({given_by}))")
    return Program.parse("\n".join(lines))


@settings(max_examples=80, deadline=None)
@given(programs())
def test_meaning_is_kept(program: Program) -> None:
    expected = output(program)
    groups = partition(program)
    for candidate in candidates(rename, program):
        assert partition(candidate) == groups, candidate.source
        assert output(candidate) == expected, candidate.source


@settings(max_examples=40, deadline=None)
@given(programs())
def test_renaming_ends(program: Program) -> None:
    end = settled(program, rename)
    assert output(end) == output(program)
    joint = candidates(rename, program)
    if joint:
        once = joint[0]
        kept = {b.name for b in once.scopes.definitions}
        assert kept <= KEPT | set(WORDS) | {f"function_{i}" for i in range(4)} | {"helper"}


# Imports

STYLES = {
    "transforms on a tie": (
        "import torch\nx = torch.func.jvp(torch.func.vmap(torch.sin))",
        "from torch.func import jvp, vmap\nimport torch\nx = jvp(vmap(torch.sin))",
    ),
    "a path on a tie": (
        "import torch\nfrom torch import nn\nnn.Linear(1, 1)\nnn.GRU(torch.sin)",
        "import torch\ntorch.nn.Linear(1, 1)\ntorch.nn.GRU(torch.sin)",
    ),
    "one use of an alias": (
        "import torch\nimport torch.nn as nn\nnn.Linear(torch.sin)",
        "import torch\ntorch.nn.Linear(torch.sin)",
    ),
    "attributes of what is imported": (
        "import torch\ntorch.func.vmap.a.b\ntorch.func.vmap.c",
        "from torch.func import vmap\nvmap.a.b\nvmap.c",
    ),
    "modules further in are left alone": ("from torch.distributions.normal import Normal\nNormal(0, 1)", None),
    "a module as a value is left alone": ("from torch import func\nprint(func)\nfunc.vmap(func.grad)", None),
    "a name of the user's is not hidden": ("import torch\nvmap = 1\ntorch.func.vmap(torch.func.vmap, vmap)", None),
}


@pytest.mark.parametrize(("before", "after"), STYLES.values(), ids=STYLES.keys())
def test_import_style(before: str, after: str | None) -> None:
    program = Program.parse(before)
    found = [c.source for c in candidates(import_style, program)]
    assert found[:1] == ([] if after is None else [after])


def test_import_style_of_all_modules_at_once_and_its_end() -> None:
    source = (
        "import torch\nfrom torch.func import jvp\nfrom torch import nn\nimport torch.nn.functional as F\n"
        "F.relu(nn.Linear(1, 1))\njvp(torch.func.vmap(F.gelu))"
    )
    program = Program.parse(source)
    end = settled(program, import_style)
    assert end.source == (
        "from torch.func import jvp, vmap\nfrom torch.nn.functional import gelu, relu\nimport torch\n"
        "relu(torch.nn.Linear(1, 1))\njvp(vmap(gelu))"
    )
    assert end.tokens < program.tokens


def test_import_package() -> None:
    program = Program.parse("import torch.nn\nimport torch.fake\nimport torch.nn.functional as F\ntorch.nn, F")
    assert [c.source.splitlines()[:2] for c in candidates(import_package, program)] == [
        ["import torch", "import torch.fake"]
    ]


@pytest.mark.torch
def test_a_fresh_interpreter_loads_these_with_torch() -> None:
    code = f"import torch\nfor name in {sorted(LOADED)!r}:\n    eval(name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

"""What every installed strategy must keep: named, documented, deterministic, finite, and candidates that parse."""

from __future__ import annotations

import ast
import importlib
import itertools
import pickle
import pkgutil
from pathlib import Path

import pytest
import shrinkrepro_strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkrepro.core.apply import Inapplicable, apply
from shrinkrepro.core.edits import Edit
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.registry import load_strategies
from shrinkrepro.core.strategy import Strategy
from tests.strategies.observed import const, ran

STRATEGIES = load_strategies()
MOST_EDITS = 20_000  # for a script of a hundred lines; more would be no proposal but a search
CASES = sorted((Path(__file__).parents[2] / "benchmarks" / "cases").glob("*.py"))

SNIPPETS = (
    "import torch",
    "import torch.nn as nn",
    "from torch.func import grad, vmap",
    "x = torch.randn(2, 3)",
    "a, b = x.shape",
    "x: torch.Tensor = x + 1.5",
    "y = [torch.sin(v) for v in x if v is not None]",
    "f = lambda x, *y, k=1, **z: f(x[0:1, ...], k=-k)",
    "def g(a, /, b=2, *, c=3):\n    '''Doc.'''\n    for i, j in enumerate(a):\n        if i > b:\n            break\n"
    "        yield (i, j)\n    return c",
    "class C(nn.Module):\n    n: int = 1\n    def __init__(self, n=2):\n        super().__init__()\n"
    "        self.l = nn.Linear(n, 2)\n    def forward(self, x):\n        return self.l(x).relu()",
    "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n"
    "        return x\n    @staticmethod\n    def backward(ctx, g):\n        return g",
    "vmap(grad(lambda x: F.apply(x).sum()), in_dims=(0,))(x)",
    "net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))",
    "with torch.no_grad() as q, open(x):\n    z = {'a': 1, **d}['a']",
    "try:\n    print(f'{x!r:>{w}} and {y}')\nexcept (ValueError, KeyError) as e:\n    raise SystemExit(1) from e\n"
    "else:\n    pass\nfinally:\n    del x",
    "while (n := n - 1) and not done or 1 < n <= 3:\n    continue\nelse:\n    n += 1",
    "if __name__ == '__main__':\n    main()\nelif a:\n    b = c = 1 if a else 2\nelse:\n    global q",
    "async def h():\n    async with a as b:\n        await b\n    async for i in b:\n        yield i",
    "match x:\n    case [1, *r] if r:\n        s = r\n"
    "    case {'k': v, **w}:\n        s = w\n    case _:\n        s = None",
    "assert torch.allclose(x, y), 'differs'",
    "@torch.no_grad()\n@property\ndef p(self) -> 'int':\n    return self.l",
    "x[0], (y, *z) = y.a.b().c, (1, 2)",
    "if x > 1:\n    x @ y\nelse:\n    x.y",
    "out = []\nvmap(out.append, out_dims=None)(x)\nf(x.append, *out)[out[0].append](out)",
)  # fmt: skip


def test_strategies_are_installed_and_named() -> None:
    names = [strategy.name for strategy in STRATEGIES]
    assert names
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and " " not in name for name in names)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
def test_the_first_line_of_the_docstring_is_one_sentence_of_help(strategy: Strategy) -> None:
    assert strategy.summary.endswith((".", ":"))
    assert len(strategy.summary) <= 120


def test_no_strategy_of_the_package_is_missing_from_its_tuple() -> None:
    installed = set(shrinkrepro_strategies.STRATEGIES)
    for info in pkgutil.iter_modules(shrinkrepro_strategies.__path__):
        module = importlib.import_module(f"{shrinkrepro_strategies.__name__}.{info.name}")
        own = [value for value in vars(module).values() if isinstance(value, Strategy)]
        assert set(own) <= installed, f"{info.name}: {[s.name for s in set(own) - installed]}"


def propose(strategy: Strategy, program: Program, facts: Facts) -> list[Edit]:
    """What ``strategy`` proposes, checked to end."""
    edits = list(itertools.islice(strategy.propose(program, facts), MOST_EDITS + 1))
    assert len(edits) <= MOST_EDITS
    return edits


def check(strategy: Strategy, program: Program, facts: Facts) -> None:
    """Proposing again gives the same, as data, and what can be applied is a program other than ``program``."""
    edits = propose(strategy, program, facts)
    assert edits == propose(strategy, program, facts)
    assert pickle.loads(pickle.dumps(edits)) == edits
    for edit in edits:
        try:
            text = apply(program, [edit])
        except Inapplicable:
            continue
        ast.parse(text)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
@pytest.mark.parametrize("case", CASES[:: max(len(CASES) // 3, 1)][:3], ids=lambda p: p.stem)
def test_edits_of_real_scripts(strategy: Strategy, case: Path) -> None:
    program = Program.parse(case.read_text())
    check(strategy, program, Facts.none())


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
@settings(max_examples=12)
@given(pieces=st.lists(st.sampled_from(SNIPPETS), min_size=1, max_size=5))
def test_edits_of_odd_programs(strategy: Strategy, pieces: list[str]) -> None:
    program = Program.parse("\n".join(pieces))
    check(strategy, program, Facts.none())


PLAIN = """
def f(x, y=2):
    if x:
        return [x * y for _ in range(3)]
    return None
def g(x):
    return f(x)
class C:
    n = 1
    def m(self, k):
        for i in range(self.n):
            k = k + i if i else k
        return k
values = {'a': f(1), 'b': g(0)}
total = C().m(3) + len(values['a'])
for name, value in values.items():
    print(name, value)
"""


ENDINGS = (
    "raise ValueError(f'{total}')",
    "out = []\nlist(map(out.append, values))[len(out):]\nout[0][0]\nif total > 1:\n    total @ total",
)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
@pytest.mark.parametrize("ending", ENDINGS, ids=["raises", "fails"])
def test_edits_with_facts(strategy: Strategy, ending: str) -> None:
    described = {"total": const(6), "x": const(1), "y": const(2), "total > 1": const(True)}
    program = Program.parse(PLAIN + ending)
    check(strategy, program, Facts(program.tree, ran(program.source, described)))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
@pytest.mark.parametrize("source", ["", "pass", "x = 1", "def f(): pass"])
def test_edits_of_next_to_nothing(strategy: Strategy, source: str) -> None:
    check(strategy, Program.parse(source), Facts.none())

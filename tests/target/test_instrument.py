"""The instrumented program must mean what the program means, and its keys must be ``core.facts``' keys."""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkrepro.core.facts import position_key
from shrinkrepro.target.instrument import LINE, VALUE, Instrumented

TRICKY = '''
"""Docstring."""
from __future__ import annotations
import os.path
from dataclasses import dataclass, field
from functools import partial, wraps

def deco(value):
    def inner(f):
        @wraps(f)
        def run(*args, **kwargs):
            return value, f(*args, **kwargs)
        return run
    return inner

class Base:
    """Doc."""
    total = 0
    def __init_subclass__(cls, **kw):
        cls.kw = kw
    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs
    def name(self):
        return "base"

class Child(Base, flag=1):
    def __init__(self, *args):
        super().__init__(*args, key=3)
        self.me = __class__
    def name(self):
        return super().name() + "!"
    @property
    def size(self):
        return len(self.args)
    @size.setter
    def size(self, n):
        self.args = self.args[:n]
    @staticmethod
    def s(x=[i for i in range(3)]): return x
    @classmethod
    def c(cls): return cls.__name__

@dataclass
class Point:
    x: int = 0
    ys: list[int] = field(default_factory=lambda: [1, 2])

@deco(1 + 1)
def f(a, /, b=2, *rest, c=3, **kw):
    "doc"
    global G
    G = a
    def g():
        nonlocal b
        b += 1
        return b
    return a, g(), rest, c, kw

def gen(n):
    got = yield n
    while got: got = yield (yield got)
    return (yield from range(2))

c = Child(1, 2, *[3, 4])
c.size = 3
print(c.name(), c.size, c.s(), c.c(), c.kw, c.me is Child, Child.__doc__, f.__doc__, __doc__)
print(Point(), f(1, *(2, 3), c=4, **{"d": 5}), G)
it = gen(3); print(next(it), it.send(4), it.send(0), list(it))
x = {"a": [1, 2, 3], **{"b": (4,)}}
x["a"][1:], x["a"][0] = [7, 8], 9
x["a"][-1] += 1
a, *b = x["a"]; del x["b"], b[0]
print(x, a, b, [i for i in range(4) if i % 2 for j in "xy"], {k: v for k, v in zip("ab", (1, 2))}, {1, *{2}})
print((y := 5) + y, not y, -y, 1 < y <= 5, y if y else 0, y and None or 3, f"{y!r:>4}{y+1}", os.path.sep, "a" "b")
for i, (p, q) in enumerate([(1, 2), (3, 4)]):
    if i: continue
    print(i, p, q)
else:
    print("else")
try:
    with open(os.devnull) as h, contextlib_null() as n:
        pass
except (NameError, ValueError) as error:
    print(type(error).__name__, error.__traceback__.tb_lineno)
finally:
    print("finally")
try:
    assert y == 4, "message"
except AssertionError as error: print(error)
print((lambda *a, k=2, **kw: (a, k, kw))(1, z=3), sorted("ba", key=lambda s: s), partial(max, 1)(2))
print(list(map(str, (z for z in range(2)))), [*range(3)][::-1], "abc"[1:][0], [[1, 2], [3]][0][1])
async def co(): return 1
async def main():
    return [await co(), [await co() for _ in range(1)]]
import asyncio; print(asyncio.run(main()))
print(__name__, sorted(v for v in globals() if v[0] == "P"), [*vars(Point())])
n: int = 3; m: "int"
lst = [1]; lst[0]: int = 4; print(lst, n, __annotations__)
while n:
    n -= 1
    if n == 1: break
print(n, 1 if n else 2, ..., None)
'''

MATCH = """
def f(v):
    match v:
        case {"a": int(x), **rest} if x > len(rest): return x, rest
        case [1, *others] | (others := [2]): return others
        case str() as s: return s + "!"
        case _: return None
for v in ({"a": 2, "b": 1}, [1, 5], "s", 3): print(f(v))
""".replace(" | (others := [2])", "")


@contextlib.contextmanager
def recorders(seen: list[int]) -> Iterator[None]:
    def value(number: int, value: object) -> object:
        seen.append(number)
        return value

    setattr(builtins, VALUE, value)
    setattr(builtins, LINE, lambda line: None)
    try:
        yield
    finally:
        delattr(builtins, VALUE)
        delattr(builtins, LINE)


def output(code: object) -> str:
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(code, {"__name__": "__main__", "__builtins__": builtins})  # type: ignore[arg-type]
    return stream.getvalue()


@pytest.mark.parametrize("source", [TRICKY, MATCH])
def test_the_instrumented_program_prints_the_same(source: str) -> None:
    program = Instrumented(source)
    seen: list[int] = []
    with recorders(seen):
        assert output(compile(program.tree, "<tricky>", "exec", dont_inherit=True)) == output(
            compile(source, "<tricky>", "exec", dont_inherit=True)
        )
    assert len(set(seen)) > 20 or source is MATCH


def test_keys_are_the_positions_that_the_host_computes() -> None:
    program = Instrumented(TRICKY)
    of_host = {position_key(node) for node in ast.walk(ast.parse(TRICKY)) if isinstance(node, ast.expr)}
    assert set(program.keys) <= of_host
    assert len(set(program.keys)) == len(program.keys)


def test_a_whole_library_can_be_instrumented() -> None:
    """Every construct that the standard library uses compiles, and no key is used for two expressions."""
    folder = Path(sysconfig.get_path("stdlib"))
    names = ["ast", "typing", "dataclasses", "inspect", "enum"]
    names += ["asyncio/tasks", "collections/__init__"]
    for name in names:
        program = Instrumented((folder / f"{name}.py").read_text(encoding="utf-8"))
        compile(program.tree, name, "exec", dont_inherit=True)
        assert len(set(program.keys)) == len(program.keys) > 50, name


def test_tracebacks_show_the_original_lines() -> None:
    source = "def f(x):\n    y = x + 1\n    return (y /\n            0)\nf(\n  2)\n"
    lines = []
    for tree in (ast.parse(source), Instrumented(source).tree):
        with recorders([]):
            try:
                exec(compile(tree, "<text>", "exec"), {})
            except ZeroDivisionError:
                trace = sys.exc_info()[2]
        found = []
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "<text>":
                found.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
            trace = trace.tb_next
        lines.append(found)
    assert lines[0] == lines[1] == [("<module>", 5), ("f", 3)]

"""Bundles behave as the files that they were made of: both are run, in real interpreters, and compared."""

# ruff: noqa: E501  (a program stays on one line where that shows its form better)

from __future__ import annotations

import ast
import contextlib
import io
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shrinkrepro.core.bundle import BundleError, bundle
from shrinkrepro.core.local_modules import imported_names, is_local

CASES = Path(__file__).resolve().parents[2] / "benchmarks" / "cases"


def write(folder: Path, main: str, modules: dict[str, str], packages: frozenset[str]) -> Path:
    for name, source in modules.items():
        parts = name.split(".")
        path = (
            folder.joinpath(*parts, "__init__.py")
            if name in packages
            else folder.joinpath(*parts[:-1], parts[-1] + ".py")
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    script = folder / "main.py"
    script.write_text(main)
    return script


def output(script: Path) -> tuple[str, str, int]:
    """stdout, the last line of stderr and the exit code of a fresh interpreter."""
    done = subprocess.run([sys.executable, "-S", "-E", str(script)], capture_output=True, text=True, cwd=script.parent)
    return done.stdout, (done.stderr.strip().splitlines() or [""])[-1], done.returncode


def same(
    tmp_path: Path,
    main: str,
    modules: dict[str, str],
    packages: frozenset[str] = frozenset(),
    lazily: bool = False,
) -> str:
    """The bundle, after it has been found to print and fail as the files do."""
    (tmp_path / "before").mkdir()
    before = output(write(tmp_path / "before", main, modules, packages))
    text = bundle(main, modules, packages, lazily=lazily)
    (tmp_path / "after").mkdir()
    after = output(write(tmp_path / "after", text, {}, frozenset()))
    assert after == before, text
    assert before[0], "a case must print something"
    return text


M = """
'''Docstring of m.'''
import math
__all__ = ["double", "C", "LIMIT"]
__version__ = "1.0"
LIMIT = 3
_calls = 0
print("m runs")
def double(x):
    global _calls
    _calls += 1
    return 2 * x + zero()
def zero():
    return 0
def calls():
    return _calls
class C:
    size = LIMIT
    def area(self):
        return double(self.size) * math.pi
if __name__ == "__main__":
    print("never printed")
"""

FORMS = {
    "import": "import m\nprint(m.double(2), m.C().area(), m.calls(), m.LIMIT)",
    "import as": "import m as x\nprint(x.double(2), x.zero(), x.calls())",
    "from": "from m import double, C\nprint(double(2), C().area())",
    "from as": "from m import double as d, C as K\nprint(d(2), K().area())",
    "star": "from m import *\nprint(double(2), C().area(), LIMIT)\nprint('calls' in globals())".replace(
        "\nprint('calls' in globals())", ""
    ),
    "both": "import m\nfrom m import double\nprint(double(2), m.double(3), m.calls())",
    "twice": "import m\nimport m as again\nfrom m import LIMIT\nprint(m.LIMIT, again.LIMIT, LIMIT)",
    "in a function": "def f(x):\n    from m import double\n    return double(x)\nprint(f(3))\nprint(f(4))",
    "in a function, module": "def f(x):\n    import m\n    return m.double(x) + m.calls()\nprint('before')\nprint(f(3))",
    "in a method": "class A:\n    def f(self, x):\n        import m as k\n        return k.double(x)\nprint(A().f(3))",
    "in a class": "class A:\n    from m import double\n    import m\n    y = m.LIMIT\nprint(A.double(3), A.y, A.m.calls())",
    "in an if": "if 1:\n    import m\nelse:\n    m = None\nprint(m.double(3))",
    "in a try": "try:\n    from m import double\nexcept ImportError:\n    double = None\nprint(double(3))",
    "failing relative": "try:\n    from .m import double\nexcept ImportError:\n    from m import double\nprint(double(3))",
    "missing name": "try:\n    from m import nothing\nexcept ImportError:\n    print('missing')",
    "missing attribute": "import m\ntry:\n    m.nothing\nexcept AttributeError as e:\n    print('missing')",
    "clash of a function": "import m\ndef double(x):\n    return -x\nprint(double(2), m.double(2), m.zero())",
    "clash of a class": "import m\nclass C:\n    pass\nprint(isinstance(m.C(), C), m.C().area())",
    "clash with an import": "import m\nfrom cmath import pi as math\nprint(math, m.C().area())",
    "local of the same name": "import m\ndef f(m):\n    return m.real\nprint(f(3), m.double(3), [m for m in range(2)], (lambda m: m + 1)(1))",
    "local hides a folded name": "import m\ndef f(double):\n    return m.double(double)\nprint(f(4))",
    "comprehension": "import m\nprint([m.double(double) for double in range(3)], {m.LIMIT: m for m in [m.LIMIT] for m in [m]} if 0 else 1)",
    "copy of a counter": "from m import _calls, double\nimport m\ndouble(1)\nprint(_calls, m._calls)",
    "setattr by assignment": "import m\nm.LIMIT = 7\nprint(m.LIMIT)\ndef f():\n    m._calls = 40\n    m.zero = lambda: 100\nf()\nprint(m.double(1), m.calls())",
    "patched before a copy": "from m import zero\nimport m\nm.zero = lambda: 5\nprint(zero(), m.zero(), m.double(1))",
    "new attribute": "import m\nm.extra = 1\nm.extra += 1\nprint(m.extra)",
    "as a value": "import m\ndef f(module):\n    return module.double(4) + module.calls()\nprint(f(m), f(m), [m][0].LIMIT)",
    "getattr": "import m\nprint(getattr(m, 'double')(3), getattr(m, 'none', 1), hasattr(m, 'LIMIT'), hasattr(m, 'x'))",
    "setattr": "import m\nsetattr(m, 'zero', lambda: 9)\nprint(m.double(1), getattr(m, 'zero')(), m.zero())",
    "dir": "import m\nprint([n for n in dir(m) if not n.startswith('_')])",
    "alternatives": "import sys\nif len(sys.argv) > 5:\n    import math as backend\nelse:\n    import m as backend\nprint(backend.double(3))",
    "rebound": "from m import double\ndouble = double(1)\nprint(double)",
    "rebound in a loop": "from m import double\nfor double in [double(1), 2]:\n    print(double)",
    "deleted": "import m\nfrom m import double\nprint(double(1))\ndel double\nprint(m.double(1))",
    "guard": "import m\nif __name__ == '__main__':\n    print(m.double(2), __name__)",
    "future": "'''Doc.'''\nfrom __future__ import annotations\nimport m\ndef f(x: m.C) -> m.C:\n    return x\nprint(f(m.LIMIT), __doc__, m.__doc__, m.__name__)",
    "global statement": "import m\ntotal = 0\ndef f():\n    global total, double\n    total += m.double(1)\n    double = 3\nf()\nprint(total, double)",
    "nested functions": "def f():\n    import m\n    def g(double):\n        return m.double(double)\n    return g\nprint(f()(3))",
    "class scope": "import m\nclass A:\n    double = m.double\n    LIMIT = 5\n    both = double(LIMIT), m.LIMIT\n    def f(self):\n        return m.LIMIT\nprint(A.both, A().f())",
    "match": "import m\nmatch m.LIMIT:\n    case m.LIMIT:\n        print('same')\n    case double:\n        print(double)",
    "walrus": "import m\nprint([y for x in range(2) if (y := m.double(x)) is not None], y)",
    "default and decorator": "import m\ndef deco(k):\n    return lambda f: f\n@deco(m.LIMIT)\ndef f(x=m.LIMIT, *, y: m.C = m.C()):\n    return x\nprint(f())",
}


@pytest.mark.parametrize("main", FORMS.values(), ids=FORMS.keys())
def test_every_form_of_import(tmp_path: Path, main: str) -> None:
    text = same(tmp_path, main, {"m": M})
    assert "exec(" not in text
    assert "eval(" not in text
    assert not any(getattr(n, "module", None) == "m" and not n.level for n in ast.walk(ast.parse(text)))


PACKAGE = {
    "pkg": "print('pkg')\nfrom .one import f\nfrom . import two\nfrom .deep.three import T\nNAME = __name__\n",
    "pkg.one": "from .two import g as h\nimport math\ndef f(x):\n    return h(x) + 1\n",
    "pkg.two": "print('two', __name__, __package__)\ndef g(x):\n    return 10 * x\nstate = []\n",
    "pkg.deep": "",
    "pkg.deep.three": "from ..two import state\nfrom .. import one\nimport pkg.two as t\nclass T:\n    def __init__(self):\n        state.append(t.g(1))\n    def n(self):\n        return len(t.state), one.f(2)\n",
    "pkg.unused": "print('unused')",
    "other": "from pkg import *\nfrom pkg.deep import three\nvalue = f(3), T().n(), three.T\n",
}
PACKAGES = frozenset({"pkg", "pkg.deep"})
PACKAGE_FORMS = {
    "attribute path": "import pkg.one\nimport pkg.deep.three\nprint(pkg.one.f(1), pkg.deep.three.T().n(), pkg.two.state, pkg.NAME)",
    "from package": "from pkg import one, two as second, f, T\nprint(one.f(1), second.g(2), f(3), T().n())",
    "from module": "from pkg.deep.three import T\nprint(T().n())",
    "import as": "import pkg.deep.three as q\nprint(q.T().n(), q.one.f(0))",
    "star of star": "from other import *\nprint(value[0], value[1], f(2), T().n())",
    "package value": "import pkg\nfor n in ['f', 'NAME']:\n    print(n, hasattr(pkg, n))\nprint(getattr(pkg, 'two').g(3))",
    "late": "def f():\n    import pkg.unused\nprint('start')\nf()\nprint('end')",
    "only a part": "from pkg.two import g\nprint(g(1))",
}


@pytest.mark.parametrize("main", PACKAGE_FORMS.values(), ids=PACKAGE_FORMS.keys())
def test_packages(tmp_path: Path, main: str) -> None:
    same(tmp_path, main, PACKAGE, PACKAGES)


PROGRAMS = {
    "a module shadows a builtin that main uses": (
        "import m\nprint(max([1, 2]), m.max(3))",
        {"m": "def max(x):\n    return x\ndef k():\n    return max(1)"},
    ),
    "main shadows a builtin that a module uses": (
        "from m import biggest\ndef max(x):\n    return 'mine'\nprint(biggest([1, 5]), max(1))",
        {"m": "def biggest(x):\n    return max(x)"},
    ),
    "same names in three modules": (
        "import a, b\nfrom a import run as r\nstate = 'main'\nprint(a.run(), b.run(), r(), state, a.Config.x, b.Config.x)",
        {
            "a": "state = 'a'\nclass Config:\n    x = 1\ndef run():\n    return state",
            "b": "import a\nstate = 'b'\nclass Config(a.Config):\n    x = 2\ndef run():\n    return state, a.run()",
        },
    ),
    "circular, used late": (
        "import a\nprint(a.f(3))",
        {
            "a": "import b\ndef f(x):\n    return b.g(x - 1) if x else 'a'",
            "b": "import a\ndef g(x):\n    return a.f(x) if x else 'b'",
        },
    ),
    "circular by functions": (
        "from a import f\nprint(f(3))",
        {
            "a": "def f(x):\n    from b import g\n    return g(x - 1) if x else 'a'",
            "b": "from a import f\nprint('b runs')\ndef g(x):\n    return f(x) if x else 'b'",
        },
    ),
    "module getattr": (
        "import m\nfrom m import lazy\nprint(m.known, m.other, lazy)",
        {
            "m": "known = 1\ndef __getattr__(name):\n    if name.startswith('__'):\n        raise AttributeError(name)\n    return 'lazy ' + name"
        },
    ),
    "file": (
        "import m\nimport os\nprint(os.path.basename(m.HERE), os.path.basename(__file__), m.__name__)",
        {"m": "HERE = __file__"},
    ),
    "annotations of one module are strings": (
        "import m\ndef f(x: int): ...\nprint(f.__annotations__, m.g.__annotations__, m.D(1), m.D.__annotations__)",
        {
            "m": "from __future__ import annotations\nfrom dataclasses import dataclass\n"
            "def g(x: int) -> Later: ...\n@dataclass\nclass D:\n    x: int\nclass Later: ..."
        },
    ),
    "type hints only": (
        "from m import f\nprint(f(1))",
        {
            "m": "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from n import T\n"
            "def f(x: T) -> T:\n    return x",
            "n": "print('never')\nclass T: ...",
        },
    ),
    "order of effects": (
        "print('main 1')\nimport a\nprint('main 2')\nimport b\nprint('main 3')",
        {"a": "print('a 1')\nimport c\nprint('a 2')", "b": "import c\nprint('b')", "c": "print('c')"},
    ),
    "one branch only": (
        "import sys\nif len(sys.argv) > 9:\n    import a as k\nelse:\n    import b as k\nprint(k.x)",
        {"a": "print('a')\nx = 1", "b": "print('b')\nx = 2"},
    ),
    "registry and state": (
        "import reg, ops\nprint(sorted(reg.TABLE), reg.TABLE['add'](1, 2), reg.count)",
        {
            "reg": "TABLE = {}\ncount = 0\ndef register(name):\n    def wrap(f):\n        global count\n        count += 1\n"
            "        TABLE[name] = f\n        return f\n    return wrap",
            "ops": "from reg import register\n@register('add')\ndef add(a, b):\n    return a + b\n@register('sub')\ndef sub(a, b):\n    return a - b",
        },
    ),
    "own module object": (
        "import m\nprint(m.get('f')(2))",
        {
            "m": "import sys\ndef f(x):\n    return x + k\nk = 1\ndef get(name):\n    return getattr(sys.modules[__name__], name)"
        },
    ),
    "import hidden in the failure": (
        "import m\nprint('before', flush=True)\nm.f(0)",
        {"m": "def f(x):\n    return 1 / x"},
    ),
    "private names": (
        "from m import A\nprint(A().get(), A()._A__x)",
        {"m": "__x = 5\nclass A:\n    __x = 3\n    def get(self):\n        return self.__x"},
    ),
    "a package reads its submodules": (
        "import pkg\nprint(pkg.names)",
        {
            "pkg.one": "x = 1",
            "pkg.two": "x = 2",
            "pkg": "from .one import x\nfrom . import two\nnames = one.x, two.x, x",
        },
    ),
    "a builtin until it is bound": (
        "import m, n\nprint(m.max, n.most(2, 1), n.least(1, 2), max(1, 2))",
        {
            "m": "max = max(3, 4)",
            "n": "import sys\nif len(sys.argv) > 9:\n    max = min = None\ndef least(*a):\n    return min(a)\ndef most(*a):\n    return max(a)",
        },
    ),
    "names of renamed classes": (
        "import m\nclass Net: ...\nprint(type(m.Net()).__name__, type(Net()).__name__)",
        {"m": "class Net: ..."},
    ),
    "a deleted name is not exported": (
        "import sys\nfrom m import *\nprint(x, sys.byteorder)",
        {"m": "import sys\nx = sys.byteorder\ndel sys"},
    ),
    "names from outside by stars": (
        "from m import pi\nimport m\nprint(pi, m.floor(2.5), m.area(1))",
        {"m": "from math import *\ndef area(r):\n    return pi * r * r"},
    ),
    "keyword-only parameters": ("from m import f\nprint(f(a=1))", {"m": "def f(*, a, b=2):\n    return a, b"}),
    "typing's flag by attribute": (
        "import m\nprint(m.x)",
        {"m": "import typing as t\nif t.TYPE_CHECKING:\n    import n\nx = 1", "n": "print('never')"},
    ),
    "a function that a registry calls": (
        "from m import TABLE, register\n@register\ndef f():\n    import n\n    return n.x\nprint(TABLE[0]())",
        {"m": "TABLE = []\ndef register(f):\n    TABLE.append(f)\n    return f", "n": "print('n runs')\nx = 1"},
    ),
    "string annotation": (
        "import typing\nfrom m import f, T as U\nclass T: ...\nprint(typing.get_type_hints(f)['x'] is U)",
        {"m": "class T: ...\ndef f(x: 'T'): ..."},
    ),
}


@pytest.mark.parametrize(("main", "modules"), PROGRAMS.values(), ids=PROGRAMS.keys())
def test_programs(tmp_path: Path, main: str, modules: dict[str, str]) -> None:
    same(tmp_path, main, modules, frozenset({"pkg"} & modules.keys()))


LAZY = {
    "an optional module that cannot run": (
        "def plot():\n    import m\n    return m.x\nprint('start')\ntry:\n    plot()\nexcept ImportError:\n    print('no')",
        {"m": "import a_module_that_nobody_has\nx = 1"},
    ),
    "in the middle of an expression": (
        "import a\ndef late():\n    from b import value, bump\n    bump()\n    return value\nprint(a.step() + late(), a.state, late())",
        {
            "a": "state = 0\ndef step():\n    global state\n    state += 1\n    return state",
            "b": "import a\nprint('b runs')\nvalue: int = a.state\ncount = 0\ndef bump():\n    global count\n    count += value\nclass Box:\n    content: int = value",
        },
    ),
    "one lazy module imports another": (
        "def f():\n    import m as k\n    return k.g(2)\nprint('start')\nprint(f(), f())",
        {
            "m": "import n\nprint('m')\ndef g(x):\n    return n.y + x + sum([n.y for i in range(2)])",
            "n": "print('n')\ny = 1",
        },
    ),
}


@pytest.mark.parametrize(("main", "modules"), LAZY.values(), ids=LAZY.keys())
def test_what_functions_import_can_stay_late(tmp_path: Path, main: str, modules: dict[str, str]) -> None:
    same(tmp_path, main, modules, lazily=True)


def test_main_alone_is_not_touched() -> None:
    source = "import os  # a comment\nprint(  1)\n"
    assert bundle(source, {"m": "x = 1"}) == source


def test_a_broken_module_is_refused() -> None:
    with pytest.raises(BundleError, match="cannot be folded"):
        bundle("import m", {"m": "def ("})


def test_main_of_a_package(tmp_path: Path) -> None:
    text = bundle("from .one import f\nprint(f(1))", PACKAGE, PACKAGES, package="pkg")
    (tmp_path / "main.py").write_text(text)
    assert output(tmp_path / "main.py")[0] == "pkg\ntwo pkg.two pkg\n11\n"


def test_names_stay_where_nothing_is_in_their_way() -> None:
    text = bundle("from m import f, K\nprint(f(K))", {"m": "K = 1\ndef f(x):\n    return x"})
    assert text == "K = 1\n\ndef f(x):\n    return x\nprint(f(K))\n"


@pytest.mark.torch
def test_two_file_case(tmp_path: Path) -> None:
    folder = CASES / "vmap04_pose_graph"
    text = bundle((folder / "main.py").read_text(), {"se3": (folder / "se3.py").read_text()})
    (tmp_path / "main.py").write_text(text)
    runs = [
        subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
        for script in (folder / "main.py", tmp_path / "main.py")
    ]
    assert runs[0].stdout == runs[1].stdout
    assert "RuntimeError: vmap" in runs[0].stderr
    assert runs[0].stderr.splitlines()[-1] == runs[1].stderr.splitlines()[-1]


def test_local_is_what_lies_outside_the_libraries() -> None:
    prefixes = ["/usr/lib/python3.11", "/home/u/proj/.venv/lib/python3.11", "/home/u/pytorch/torch"]
    local = [
        "/home/u/proj/m.py",
        "/home/u/proj/pkg/__init__.py",
        "/home/u/lib/src/pkg/a.py",
        "/home/u/pytorch/tools/x.py",
    ]
    others = [
        "/usr/lib/python3.11/json/decoder.py",
        "/usr/lib/python3/dist-packages/numpy/__init__.py",
        "/home/u/proj/.venv/lib/python3.11/site-packages/einops/einops.py",
        "/home/u/proj/.venv/lib/python3.11/abc.py",
        "/home/u/pytorch/torch/nn/__init__.py",
        "/home/u/proj/ext.cpython-311-x86_64-linux-gnu.so",
    ]
    assert [f for f in local + others if is_local(f, "/home/u/proj", prefixes)] == local


def test_a_script_in_a_library_has_local_siblings() -> None:
    folder = "/usr/lib/python3.11/site-packages/app"
    assert is_local(f"{folder}/m.py", folder, ["/usr/lib/python3.11"])
    assert not is_local("/usr/lib/python3.11/abc.py", folder, ["/usr/lib/python3.11"])


def test_imported_names() -> None:
    source = "import a.b as c, d\ndef f():\n    from e import g, h\nfrom . import k\nfrom ..m import *\nfrom .... import far\n"
    assert imported_names(source, "p.q") == {
        *("a", "a.b", "d", "e", "e.g", "e.h", "p", "p.q", "p.q.k", "p.m"),
    }
    assert imported_names("from . import k\nimport x") == {"x"}


# Programs that nobody thought of

NAMES = ["f", "g", "x", "max", "a", "b"]


@st.composite
def module_source(draw: st.DrawFn, earlier: dict[str, str]) -> str:
    """A module that imports some of the ``earlier`` modules in random ways and computes with what it got.

    Only modules without imports are imported late, as what runs in the middle of an expression cannot be folded
    there; and a module with late imports is not kept as an object, as any use of the object might set them off.
    """
    lines: list[str] = []
    terms = ["1"]
    functions: list[str] = []
    for module in draw(st.lists(st.sampled_from([*earlier]), max_size=2, unique=True)) if earlier else []:
        forms = [0, 1, 2, 3]
        forms += [] if "import" in earlier[module] else [4]
        forms += [] if "late" in earlier[module] else [5]
        form = draw(st.sampled_from(forms))
        alias = draw(st.sampled_from([*NAMES, "k"]))
        if form == 0:
            lines.append(f"import {module}")
            terms.append(f"{module}.value")
            functions.append(f"{module}.call")
        elif form == 1:
            lines.append(f"import {module} as {alias}")
            terms.append(f"{alias}.value")
        elif form == 2:
            lines.append(f"from {module} import value as {alias}")
            terms.append(alias)
        elif form == 3:
            lines.append(f"from {module} import *")
            terms.append("value")
        elif form == 4:
            lines.append(
                f"def late_{module}():\n    import {module} as {alias}\n    {alias}.state += 1\n    return {alias}.call(2)"
            )
            functions.append(f"late_{module}()+abs")
        else:
            lines.append(f"import {module}\nwrapped_{module} = [{module}]")
            terms.append(f"wrapped_{module}[0].state")
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True)):
        if draw(st.booleans()):
            lines.append(f"{name} = {draw(st.integers(0, 9))}")
        else:
            inner = draw(st.sampled_from(NAMES))
            lines.append(f"def {name}({inner}):\n    return {inner} + state")
    lines.append(f"state = {draw(st.integers(0, 9))}")
    # A name may have been rebound to a function or a module meanwhile: then both versions must fail alike.
    lines.append(f"value = {' + '.join(terms)}")
    calls = " + ".join(f"{f}(x)" for f in functions) or "x"
    lines.append(f"def call(x):\n    global state\n    state += 1\n    return {calls} + state + value + max(x, 1)")
    lines.append("print(__name__ if __name__ != '__main__' else 'main', value)")
    return "\n".join(lines) + "\n"


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    modules: dict[str, str] = {}
    for name in ("a", "b", "c"):
        modules[name] = draw(module_source(modules))
    main = draw(module_source(modules))
    return main + "for i in range(3):\n    print(call(i), state, value)\n", modules


def run_here(script: Path, modules: dict[str, str]) -> tuple[str, str]:
    """stdout and the type of the exception, run in this process."""
    out = io.StringIO()
    error = ""
    before = dict(sys.modules)
    sys.path.insert(0, str(script.parent))
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(str(script), run_name="__main__")
    except Exception as caught:
        error = type(caught).__name__
    finally:
        sys.path.remove(str(script.parent))
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update({k: v for k, v in before.items() if k in modules})
        sys.path_importer_cache.pop(str(script.parent), None)
    return out.getvalue(), error


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_generated_programs(program: tuple[str, dict[str, str]]) -> None:
    main, modules = program
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        before = run_here(write(Path(one), main, modules, frozenset()), modules)
        text = bundle(main, modules)
        after = run_here(write(Path(two), text, {}, frozenset()), {})
    assert after[1] == before[1], text
    # a program that stops early may stop before a module that a function imports, which a bundle runs sooner
    assert after[0] == before[0] or before[1], text


@settings(max_examples=30, deadline=None)
@given(programs())
def test_bundles_are_deterministic_and_final(program: tuple[str, dict[str, str]]) -> None:
    text = bundle(*program)
    assert text == bundle(*program)
    assert bundle(text, {}) == text

"""The parser against what Python itself prints, for random chains and for the odd forms that real runs show."""

from __future__ import annotations

import subprocess
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.core.tracebacks import locate, parse_crash, parse_tracebacks
from shrinkrepro.protocol import Frame, Raised

SITE = "/opt/env/lib/python3.11/site-packages"

names = st.sampled_from(["f", "<module>", "forward", "_flat_vmap", "<lambda>", "große_funktion", "<listcomp>"])
files = st.sampled_from(
    [
        ("/home/u/run/main.py", "main.py", False),
        ("/home/u/run/pkg/model.py", "model.py", False),
        (f"{SITE}/torch/_functorch/vmap.py", "torch/_functorch/vmap.py", True),
        ("/usr/lib/python3/dist-packages/numpy/core.py", "numpy/core.py", True),
        ("/usr/lib/python3.12/contextlib.py", "contextlib.py", True),
        ("/src/pytorch/torch/nn/functional.py", "torch/nn/functional.py", True),
    ]
)
words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12)
message_lines = st.lists(words | st.just("  indented: text"), min_size=1, max_size=3)


class Unsupported(Exception):
    """A third party's exception: printed with its module."""


types = st.sampled_from([ValueError, RuntimeError, AssertionError, Unsupported])


# An exception to print: its type, its message, and its frames as ((path, short path, lib), line, function).
Drawn = tuple[type[Exception], str, list[tuple[tuple[str, str, bool], int, str]]]


@st.composite
def raised(draw: st.DrawFn) -> Drawn:
    message = "\n".join(draw(message_lines))
    frames = draw(st.lists(st.tuples(files, st.integers(1, 999), names), min_size=1, max_size=4))
    return draw(types), message, frames


def render(chain: list[Drawn], links: list[bool]) -> str:
    """The chain (innermost first) as Python's own printer lays it out; a link is True for ``raise ... from``."""
    before: traceback.TracebackException | None = None
    for (kind, message, frames), direct in zip(chain, [True, *links]):
        now = traceback.TracebackException(kind, kind(message), None)
        now.stack = traceback.StackSummary.from_list([(file[0], line, name, "code()") for file, line, name in frames])
        if before is not None and direct:
            now.__cause__ = before
        elif before is not None:
            now.__context__ = before
        before = now
    assert before is not None
    return "".join(before.format())


@given(st.lists(raised(), min_size=1, max_size=3), st.lists(st.booleans(), min_size=2, max_size=2), st.booleans())
def test_a_printed_chain_is_read_back(chain: list[Drawn], links: list[bool], noise: bool) -> None:
    text = render(chain, links)
    if noise:
        text = f"/x/a.py:3: UserWarning: slow\n{render(chain[:1], [])}handled\n{text}[W1130 12:00:01.1 x.cpp:3] late\n"
    got = parse_tracebacks(text, "/home/u/run/main.py")
    want = tuple(
        Raised(
            kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}",
            message,
            tuple(Frame(short, line, name, lib) for (_, short, lib), line, name in frames),
        )
        for kind, message, frames in reversed(chain)
    )
    assert [(r.type, r.message.split("\nhandled")[0]) for r in got] == [(r.type, r.message) for r in want]
    assert [[replace(f, text="") for f in r.frames] for r in got] == [list(r.frames) for r in want]


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    parse_tracebacks(text, "main.py")
    parse_tracebacks("Traceback (most recent call last):\n" + text, "main.py")
    parse_crash("Current thread 0x1 (most recent call first):\n" + text)


def run(tmp_path: Path, source: str) -> tuple[Raised, ...]:
    script = tmp_path / "prog.py"
    script.write_text(source)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    return parse_tracebacks(done.stderr, str(script))


def test_carets_and_a_message_of_several_lines(tmp_path: Path) -> None:
    (only,) = run(tmp_path, "def f():\n    raise ValueError('one\\n\\n  two')\nf()\n")
    assert only == Raised(
        "ValueError", "one\n\n  two", (Frame("prog.py", 3, "<module>", False), Frame("prog.py", 2, "f", False))
    )


def test_deep_recursion_keeps_its_length(tmp_path: Path) -> None:
    (only,) = run(tmp_path, "def f(n):\n    f(n - 1) if n else 1 / 0\nf(50)\n")
    assert only.type == "ZeroDivisionError"
    assert [frame.function for frame in only.frames] == ["<module>", *["f"] * 51]


def test_a_cause_that_was_never_raised(tmp_path: Path) -> None:
    outer, cause = run(tmp_path, "raise RuntimeError('outer') from KeyError('inner')\n")
    assert (outer.type, outer.message) == ("RuntimeError", "outer")
    assert (cause.type, cause.message, cause.frames) == ("KeyError", "'inner'", ())


def test_a_syntax_error_of_the_script(tmp_path: Path) -> None:
    (only,) = run(tmp_path, "x = 1\nfoo bar\n")
    assert (only.type, only.frames) == ("SyntaxError", ())


def test_a_syntax_error_deeper_down(tmp_path: Path) -> None:
    (only,) = run(tmp_path, "compile('foo bar', 'gen.py', 'exec')\n")
    assert (only.type, [frame.function for frame in only.frames]) == ("SyntaxError", ["<module>"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups came with Python 3.11")
def test_an_exception_group_gives_the_group(tmp_path: Path) -> None:
    source = "raise ExceptionGroup('two', [KeyError('k'), ValueError('v')])\n"
    (only,) = run(tmp_path, source)
    assert (only.type, only.message) == ("ExceptionGroup", "two (2 sub-exceptions)")


def test_a_traceback_that_was_printed_before_an_exit(tmp_path: Path) -> None:
    source = "import sys, traceback\ntry:\n    1 / 0\nexcept Exception:\n    traceback.print_exc()\n    sys.exit(3)\n"
    (only,) = run(tmp_path, source)
    assert (only.type, only.message) == ("ZeroDivisionError", "division by zero")


def test_what_python_ignores_does_not_hide_the_failure(tmp_path: Path) -> None:
    source = "class A:\n    def __del__(self):\n        raise KeyError('late')\na = A()\nraise ValueError('early')\n"
    (only,) = run(tmp_path, source)
    assert only.type == "ValueError"


def test_an_own_exception_has_no_module(tmp_path: Path) -> None:
    source = "def f():\n    class E(Exception):\n        pass\n    raise E\nf()\n"
    (only,) = run(tmp_path, source)
    assert (only.type, only.message) == ("f.<locals>.E", "")


def test_dynamo_user_code_stays_in_the_message() -> None:
    text = (
        "Traceback (most recent call last):\n"
        f'  File "{SITE}/torch/_dynamo/eval_frame.py", line 1, in compile_wrapper\n    x\n'
        "torch._dynamo.exc.TorchRuntimeError: RuntimeError when making fake tensor call\n  Explanation: E\n\n"
        'from user code:\n   File "/home/u/main.py", line 3, in f\n    return x @ y\n\nSet TORCHDYNAMO_VERBOSE=1\n'
    )
    (only,) = parse_tracebacks(text, "/home/u/main.py")
    assert only.type == "torch._dynamo.exc.TorchRuntimeError"
    assert [frame.function for frame in only.frames] == ["compile_wrapper"]
    assert only.message.endswith("TORCHDYNAMO_VERBOSE=1")


def test_a_traceback_whose_start_was_cut_off() -> None:
    text = f'k.py", line 3, in g\n    x\n  File "{SITE}/torch/a.py", line 1, in h\n    y\nRuntimeError: m\n'
    (only,) = parse_tracebacks(text, "main.py")
    assert only == Raised("RuntimeError", "m", (Frame("torch/a.py", 1, "h", True),))


def test_the_lines_of_a_distributed_process() -> None:
    plain = (
        'Traceback (most recent call last):\n  File "/home/u/main.py", line 3, in f\n    g()\nRuntimeError: m\n\nmore\n'
    )
    marked = "".join(f"[rank0]: {line}\n" for line in plain.splitlines())
    (only,) = parse_tracebacks(f"[Gloo] Rank 0 is connected\n{marked}[rank0]:[W1201 01:02:03] bye\n", "/home/u/main.py")
    assert only == Raised("RuntimeError", "m\n\nmore", (Frame("main.py", 3, "f", False),))


def test_a_printed_stack_is_no_exception(tmp_path: Path) -> None:
    assert run(tmp_path, "import traceback, sys\ntraceback.print_stack()\nprint('all well', file=sys.stderr)\n") == ()


def test_windows_and_generated_files() -> None:
    assert locate(r"C:\py\Lib\site-packages\torch\func.py") == ("torch/func.py", True)
    assert locate("<frozen importlib._bootstrap>") == ("<frozen importlib._bootstrap>", True)
    assert locate("<eval_with_key>.0") == ("<eval_with_key>.0", False)
    assert locate(f"{SITE}/tool/run.py", f"{SITE}/tool/run.py") == ("run.py", False)


def test_the_frames_of_a_crash(tmp_path: Path) -> None:
    script = tmp_path / "prog.py"
    script.write_text(
        "import faulthandler, json\ndef f(x):\n    faulthandler._sigsegv()\njson.loads('1', object_hook=f)\nf(1)\n"
    )
    done = subprocess.run([sys.executable, "-X", "faulthandler", script], capture_output=True, text=True, check=False)
    assert done.returncode < 0
    assert parse_crash(done.stderr) == ("prog.py:f", "prog.py:<module>")


def test_a_crash_inside_a_library() -> None:
    text = (
        "Fatal Python error: Aborted\n\nThread 0x01 (most recent call first):\n"
        '  File "/usr/lib/python3.11/threading.py", line 1 in wait\n\n'
        "Current thread 0x02 [python] (most recent call first):\n"
        f'  File "{SITE}/torch/nn/functional.py", line 2 in ctc_loss\n'
        '  File "/home/u/main.py", line 9 in <module>\n\nExtension modules: x\n'
    )
    assert parse_crash(text) == ("torch/nn/functional.py:ctc_loss", "main.py:<module>")

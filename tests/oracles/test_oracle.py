"""The oracle's rules one by one, on runs of small scripts and on executions with one thing changed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from shrinkrepro import protocol
from shrinkrepro.core.verdict import Outcome
from shrinkrepro.errors import UsageError
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import Signature, signature_of
from shrinkrepro.protocol import Execution, Frame, Raised
from tests.oracles.record import execution_of, run

PROGRAM = "prog.py"


def lib(file: str, function: str) -> Frame:
    return Frame(f"torch/{file}", 1, function, True)


USER = Frame(PROGRAM, 1, "f", False)
VMAP = lib("_functorch/vmap.py", "_flat_vmap")
GRAD = lib("_functorch/eager_transforms.py", "grad_and_value_impl")
JVP = lib("_functorch/eager_transforms.py", "_jvp_with_argnums")
FUNCTION = lib("_functorch/autograd_function.py", "custom_function_call_grad")
LAYER_NORM = lib("nn/functional.py", "layer_norm")


def raising(*frames: Frame, type: str = "RuntimeError", message: str = "bad op. More 3") -> Execution:
    top = Frame(PROGRAM, 9, "<module>", False)
    return Execution(protocol.EXCEPTION, (Raised(type, message, (top, *frames)),), 1)


def crashing(*frames: str, signal: int = 11, stderr: str = "") -> Execution:
    return Execution(protocol.SIGNAL, (), signal, "", stderr, (), frames)


def oracle(execution: Execution, match: str = "signature", exclude: str | None = None) -> Oracle:
    made = Oracle.of(execution, match, exclude)
    assert made is not None
    return made


def same(original: Execution, candidate: Execution, source: str = "") -> bool:
    return oracle(original).judge(candidate, source).interesting


def in_process(tmp_path: Path, source: str) -> Execution:
    script = tmp_path / PROGRAM
    script.write_text(source)
    return execution_of(run(script))


def test_levels_may_go_but_not_the_last_one() -> None:
    original = raising(VMAP, GRAD, USER)
    assert same(original, raising(VMAP, USER))
    assert same(original, raising(GRAD, USER))
    assert not same(original, raising(USER))
    assert not same(original, raising(JVP, USER))
    assert same(raising(USER), raising(USER))


def test_a_custom_function_must_stay() -> None:
    original = raising(VMAP, FUNCTION, USER)
    assert same(original, raising(GRAD, VMAP, FUNCTION, USER))
    assert not same(original, raising(VMAP, USER))


def test_the_place_must_stay_and_may_be_called_directly() -> None:
    original = raising(VMAP, USER, lib("nn/modules/module.py", "_call_impl"), LAYER_NORM)
    assert same(original, raising(VMAP, LAYER_NORM))
    assert same(original, raising(VMAP, USER), "vmap(lambda x: torch.layer_norm(x, [1]))(x)")
    assert not same(original, raising(VMAP, USER), "vmap(lambda x: torch.layer_normal(x))(x)")
    assert not same(original, raising(VMAP, lib("nn/functional.py", "linear")), "layer_norm")
    assert not same(raising(VMAP, USER), original)


def test_what_only_called_back_may_go_when_the_cause_is_local() -> None:
    item = "vmap: It looks like you're calling .item() on a Tensor. No"
    checkpoint = lib("utils/checkpoint.py", "checkpoint")
    assert same(raising(VMAP, checkpoint, USER, message=item), raising(VMAP, USER, message=item))
    assert not same(raising(VMAP, checkpoint, message=item), raising(VMAP, USER, message=item))


def test_what_drives_the_program_is_no_place() -> None:
    step = lib("optim/lbfgs.py", "step")
    checkpoint = lib("utils/checkpoint.py", "checkpoint")
    assert same(raising(step, USER), raising(USER))
    assert same(raising(checkpoint, USER, VMAP, USER), raising(VMAP, USER))
    assert not same(raising(VMAP, checkpoint, USER), raising(VMAP, USER))
    assert not same(raising(USER, step), raising(USER))


def test_match_widens() -> None:
    original, candidate = raising(VMAP, LAYER_NORM), raising(USER, message="bad op. Else")
    assert oracle(original, "message").judge(candidate).interesting
    assert not oracle(original, "message").judge(raising(VMAP, message="no op")).interesting
    assert oracle(original, "type").judge(raising(USER, message="no op")).interesting
    assert not oracle(original, "type").judge(raising(USER, type="ValueError")).interesting
    assert oracle(original, "/bad op|no op/").judge(raising(USER, message="no op")).interesting
    with pytest.raises(UsageError):
        oracle(original, "sort of")
    with pytest.raises(UsageError):
        oracle(original, "/(/")


def test_exclude_names_a_known_other_failure() -> None:
    verdict = oracle(raising(VMAP, USER), exclude="bad").judge(raising(VMAP, USER))
    assert verdict.outcome is Outcome.SLIPPED


def test_outcomes() -> None:
    judge = oracle(raising(VMAP, USER)).judge
    assert judge(Execution(protocol.OK)).outcome is Outcome.PASSED
    assert judge(Execution(protocol.TIMEOUT, code=9)).outcome is Outcome.UNRESOLVED
    assert judge(Execution(protocol.LOST, detail="gone")).outcome is Outcome.UNRESOLVED
    assert judge(crashing(f"{PROGRAM}:f")).outcome is Outcome.SLIPPED
    syntax = Execution(protocol.EXCEPTION, (Raised("SyntaxError", "invalid syntax"),), 1)
    assert judge(syntax).outcome is Outcome.INVALID


def test_a_crash_keeps_signal_assertion_and_place() -> None:
    original = crashing("torch/nn/functional.py:ctc_loss", f"{PROGRAM}:f", "torch/_functorch/vmap.py:_flat_vmap")
    assert same(original, crashing("torch/nn/functional.py:ctc_loss", f"{PROGRAM}:<module>"))
    assert same(original, crashing(f"{PROGRAM}:<module>"), "torch.ctc_loss(x)")
    assert not same(original, crashing(f"{PROGRAM}:<module>"), "os.kill(0)")
    assert not same(original, crashing("ctypes/__init__.py:string_at", "torch/_functorch/vmap.py:_flat_vmap"))
    assert not same(original, dataclasses.replace(original, code=6))
    assert not same(original, dataclasses.replace(original, stderr='x INTERNAL ASSERT FAILED at "/a.cpp":3'))
    assert not same(original, dataclasses.replace(original, crash_frames=original.crash_frames * 40))


def test_a_hang_is_one_only_for_a_hang() -> None:
    hang = Execution(protocol.TIMEOUT, code=9, crash_frames=("torch/nn/functional.py:ctc_loss",))
    assert same(hang, hang)
    assert not same(hang, dataclasses.replace(hang, crash_frames=("torch/nn/functional.py:linear",)))
    assert not same(hang, Execution(protocol.OK))


def test_exits(tmp_path: Path) -> None:
    original = in_process(tmp_path, "import sys\nprint('gap 0.5 too large')\nsys.exit(3)\n")
    assert same(original, in_process(tmp_path, "print('gap 7 too large')\nraise SystemExit(3)\n"))
    assert not same(original, in_process(tmp_path, "raise SystemExit(3)\n"))
    assert not same(original, in_process(tmp_path, "print('gap 7 too large')\nraise SystemExit(4)\n"))


def test_a_failure_that_is_caught_printed_and_turned_into_an_exit(tmp_path: Path) -> None:
    raised = in_process(tmp_path, "raise ValueError('no 3 good')\n")
    printed = "import sys, traceback\ntry:\n    raise ValueError('no 4 good')\nexcept ValueError as e:\n"
    assert same(in_process(tmp_path, printed + "    traceback.print_exc()\n    sys.exit(2)\n"), raised)
    assert same(raised, in_process(tmp_path, printed + "    print('failed:', e)\n    sys.exit(2)\n"))


@pytest.mark.parametrize(
    ("source", "type", "sentence"),
    [
        ("try:\n    {}['k']\nexcept KeyError:\n    int('x' * 3)\n", "ValueError", "invalid literal"),
        (
            "try:\n    int('x')\nexcept ValueError as e:\n    raise RuntimeError('step 3') from e\n",
            "ValueError",
            "invalid",
        ),
        (
            "try:\n    int('x')\nexcept ValueError as e:\n    raise RuntimeError(f'step 3: {e}')\n",
            "ValueError",
            "invalid",
        ),
        ("raise RuntimeError('step 3') from ValueError('never raised')\n", "RuntimeError", "step"),
    ],
)
def test_the_innermost_cause_is_the_failure(tmp_path: Path, source: str, type: str, sentence: str) -> None:
    found = signature_of(in_process(tmp_path, source))
    assert found is not None
    assert found.type == type
    assert found.sentence.startswith(sentence)


def test_an_assert_of_the_program_is_a_mismatch(tmp_path: Path) -> None:
    original = in_process(tmp_path, "gap = 3\nassert gap < 1, f'gap is {gap}'\n")
    assert signature_of(original) == Signature("mismatch", "AssertionError", "gap is <n>", by_program=True)
    assert same(original, in_process(tmp_path, "assert 0\n"))
    assert not same(original, in_process(tmp_path, "assert 0, 'other'\n"))


def test_a_warning_is_a_failure_when_it_is_asked_for() -> None:
    warned = Execution(protocol.OK, warnings=("UserWarning: There is a performance drop for aten::x. Please",))
    assert Oracle.of(warned) is None
    by_regex = oracle(warned, "/performance drop/")
    assert by_regex.judge(warned).interesting
    assert by_regex.judge(Execution(protocol.OK)).outcome is Outcome.PASSED
    assert by_regex.judge(raising(USER)).outcome is Outcome.SLIPPED


def test_levels_inside_compile_are_read_from_what_dynamo_traced() -> None:
    site = "/v/lib/python3.11/site-packages/torch"
    message = (
        "RuntimeError when making fake tensor call\n  Explanation: call f: got RuntimeError('bad 3 op')\n\n"
        "from user code:\n"
        f'   File "/home/u/prog.py", line 1, in f\n    jvp(x)\n  File "{site}/_functorch/eager_transforms.py", line 5, '
        f'in _jvp_with_argnums\n    func()\n  File "{site}/nn/functional.py", line 7, in layer_norm\n    x\n'
    )
    wrapper = lib("_dynamo/eval_frame.py", "compile_wrapper")
    found = signature_of(raising(wrapper, type="torch._dynamo.exc.TorchRuntimeError", message=message))
    assert found is not None
    assert (found.type, found.sentence, found.levels) == ("RuntimeError", "bad <n> op", ("compile", "jvp"))
    assert str(found.where) == "layer_norm (torch/nn/functional.py)"


def test_the_words() -> None:
    words = [
        (raising(VMAP, GRAD, FUNCTION, USER), "RuntimeError: bad op, raised in the program's own code, "
         "in a custom autograd.Function, under vmap of grad"),
        (crashing("torch/nn/functional.py:ctc_loss"), "crash by SIGSEGV in ctc_loss (torch/nn/functional.py)"),
        (Execution(protocol.EXIT, code=3, stderr="no\n"), "exit code 3 after 'no'"),
    ]  # fmt: skip
    for execution, text in words:
        found = signature_of(execution)
        assert found is not None
        assert found.describe() == text


def test_a_transform_that_fails_at_its_own_work_is_another_failure() -> None:
    calls = dataclasses.replace(GRAD, text="output = func(*args, **kwargs)")
    works = dataclasses.replace(GRAD, text="output = _unwrap_for_grad(output, level)")
    assert same(raising(GRAD, USER), raising(calls))  # an operator is the function
    assert not same(raising(GRAD, USER), raising(works))
    assert not same(raising(works), raising(GRAD, USER))
    assert same(raising(VMAP, works), raising(works))


@pytest.mark.torch
def test_a_sparse_input_is_no_sparse_product(tmp_path: Path) -> None:
    product = "import torch\nA = torch.ones(1, 1).to_sparse_csr()\ntorch.func.vjp(lambda x: A @ x, torch.ones(1))"
    wrapped = "import torch\ntorch.func.vjp(lambda x: x, torch.ones(1, 1).to_sparse_csr())"
    direct = "import torch\nA = torch.ones(1, 1).to_sparse_csr()\ntorch.func.vjp(A.mv, torch.ones(1))"
    original = in_process(tmp_path, product)
    assert same(original, in_process(tmp_path, direct))
    assert not same(original, in_process(tmp_path, wrapped))


def test_what_was_raised_before_an_exit_counts_where_a_harness_saw_it() -> None:
    chain = (Raised("AssertionError", "Tensor-likes are not close!", (Frame("script.py", 3, "<module>", False),)),)
    fresh = Execution(protocol.EXIT, code=3, stdout="it failed")
    seen = Oracle.of(Execution(protocol.EXCEPTION, chain, code=3, watched=True))
    shown = signature_of(fresh)
    assert seen is not None
    oracle = Oracle(seen.signature, shown=shown)
    assert oracle.judge(fresh).interesting
    assert not oracle.judge(Execution(protocol.EXIT, code=3, stdout="it failed", watched=True)).interesting
    assert not oracle.judge(Execution(protocol.EXIT, code=2, stdout="it failed")).interesting
    assert not oracle.judge(Execution(protocol.EXIT, code=3, stdout="all is well")).interesting

"""One bug with several faces: which of them count, those that nobody has seen yet among them."""

from __future__ import annotations

from shrinkrepro import protocol
from shrinkrepro.oracles.faces import Faces, faces
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.protocol import Execution, Frame, Raised

TOP = Frame("prog.py", 9, "<module>", False)
GRAD = Frame("torch/_functorch/eager_transforms.py", 1, "grad_and_value_impl", True)
EMBEDDING = Frame("torch/nn/functional.py", 1, "embedding", True)
LINEAR = Frame("torch/nn/functional.py", 1, "linear", True)
DISORDER = "level <= current_level INTERNAL ASSERT FAILED at ADInterpreters.cpp:12, please report a bug to PyTorch."


def raising(message: str, *frames: Frame) -> Execution:
    return Execution(protocol.EXCEPTION, (Raised("RuntimeError", message, (TOP, *frames)),), 1)


def crashing(signal: int, *frames: str) -> Execution:
    return Execution(protocol.SIGNAL, (), signal, "", "", (), frames)


FREED = raising("tensor does not have a device", GRAD, EMBEDDING)
CRASHED = crashing(11, "torch/nn/functional.py:embedding", "torch/_functorch/eager_transforms.py:grad_and_value_impl")


def several(*runs: Execution) -> Faces | None:
    first = Oracle.of(runs[0], "signature", None)
    assert first is not None
    return faces(first, runs[1:])


def test_there_are_faces_only_where_one_run_crashed() -> None:
    assert several(FREED, raising(DISORDER, GRAD, EMBEDDING)) is None
    assert several(FREED, CRASHED) is not None


def test_a_face_nobody_saw_counts_at_the_same_place_and_nowhere_else() -> None:
    seen = several(FREED, CRASHED)
    assert seen is not None
    assert seen.judge(FREED).interesting
    assert seen.judge(CRASHED).interesting
    assert seen.judge(raising(DISORDER, GRAD, EMBEDDING)).interesting
    assert not seen.judge(raising(DISORDER, GRAD, LINEAR)).interesting
    assert not seen.judge(raising(DISORDER, EMBEDDING)).interesting, "no transform is left"
    assert not seen.judge(raising("index out of range", GRAD, EMBEDDING)).interesting, "no disorder"


def test_where_the_original_crashed_by_itself_a_crash_is_wanted_there() -> None:
    seen = several(CRASHED, FREED)
    assert seen is not None
    assert seen.judge(FREED).interesting
    assert seen.in_fresh.judge(CRASHED).interesting
    assert not seen.in_fresh.judge(FREED).interesting
    assert not seen.in_fresh.judge(raising(DISORDER, GRAD, EMBEDDING)).interesting
    other = several(FREED, CRASHED)
    assert other is not None
    assert other.in_fresh == other

"""``--differs``: how two values are made comparable, and what is said where they cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shrinkrepro.api import Silent
from shrinkrepro.errors import NotFailingError, UsageError
from shrinkrepro.session.differing import _conversion, compared
from shrinkrepro.session.original import run_original
from shrinkrepro.session.request import Request

F32 = {"kind": "tensor", "shape": [3], "dtype": "torch.float32", "device": "cpu"}
F64 = {**F32, "dtype": "torch.float64"}
NUMBER = {"kind": "number", "type": "float"}
INTEGER = {"kind": "number", "type": "int"}
LIST = {"kind": "list", "shape": [3], "type": "list"}
TENSORS = {"kind": "tensors", "shape": [3]}
OTHER = {"kind": "other", "type": "str"}


@pytest.mark.parametrize(
    ("got", "want", "close", "call"),
    [
        (F32, F32, False, "a, b"),
        (F32, F64, False, "a, b, check_dtype=False"),
        (F32, F64, True, "a, b"),  # the dtype is what differs
        (F32, {**F32, "device": "cuda:0"}, False, "a, b, check_device=False"),
        (F32, LIST, False, "a, th.as_tensor(b, dtype=th.float32)"),
        (LIST, F64, False, "th.as_tensor(a, dtype=th.float64), b"),
        (F32, NUMBER, False, "a, th.full_like(a, b)"),
        (NUMBER, INTEGER, False, "a, float(b)"),
        (F32, TENSORS, False, "a, th.stack(b)"),
        (LIST, TENSORS, False, "th.as_tensor(a), th.stack(b), check_dtype=False"),
    ],
)
def test_conversions(got: dict[str, Any], want: dict[str, Any], close: bool, call: str) -> None:
    one, other, options = _conversion(("a", "b"), {"kinds": [got, want], "close": close}, "th")
    assert f"{one}, {other}{options}" == call


def test_what_cannot_be_compared_is_named() -> None:
    with pytest.raises(UsageError, match="float32 of shape \\(3,\\) against str"):
        _conversion(("a", "b"), {"kinds": [F32, OTHER]}, "torch")


def test_torch_is_imported_where_the_script_does_not() -> None:
    assert compared("a = b = 1\n", ("a", "b")).text.endswith("import torch\ntorch.testing.assert_close(a, b)\n")
    assert compared("import torch as th\na = 1\n", ("a", "a + 1")).text.endswith(
        "\nth.testing.assert_close(a, a + 1)\n"
    )


@pytest.mark.torch
@pytest.mark.slow
def test_a_tensor_and_a_list_in_a_function_that_agree(tmp_path: Path) -> None:
    lines = (
        "import torch",
        "def main():",
        "    got = torch.ones(2)",
        "    want = [1.0, 1 + 1e-7]",
        "    return 0",
        "main()",
    )
    asked = Request(script=None, text="\n".join(lines), cwd=tmp_path, differs=("got", "want"))
    with pytest.raises(NotFailingError, match=r"got and want agree: they differ by 1\.19e-07 at most \(float32 of"):
        run_original(asked, Silent())

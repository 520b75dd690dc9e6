"""A line's call under transforms becomes options, or nothing."""

from __future__ import annotations

import pytest

from shrinkrepro.core.transform_calls import TransformCall, call_at


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("y = vmap(f)(x)", TransformCall("f", "vmap", "x")),
        (
            "y = torch.vmap(net.loss, in_dims=(0, None))(x, w + 1)",
            TransformCall("net.loss", "vmap", "x, w + 1", "(0, None)"),
        ),
        (
            "y = vmap(torch.func.grad(f, 1), (None, 0))(w, x)",
            TransformCall("f", "vmap(grad)", "w, x", "(None, 0)", "1"),
        ),
        ("print(hessian(f)(x).norm())", TransformCall("f", "hessian", "x")),
        ("y, t = jvp(f, (x, w), (dx, dw))", TransformCall("f", "jvp", "x, w", tangents="dx, dw")),
        ("if True: y = grad(f)(x)", TransformCall("f", "grad", "x")),
        ("y = vmap(lambda v: v)(x)", None),
        ("y = vmap(f)(*xs)", None),
        ("y = vmap(f, out_dims=1)(x)", None),
        ("y = vmap(f)(x) + vmap(g)(x)", None),
        ("y = [vmap(f)(v) for v in x]", None),
        ("def run(x): return vmap(f)(x)", None),
        ("y = torch.autograd.grad(f)(x)", None),
        ("y = f(x)", None),
    ],
)
def test_a_call(line: str, expected: TransformCall | None) -> None:
    assert call_at(f"x = 1\n{line}\n", 2) == expected


def test_only_the_line_counts() -> None:
    assert call_at("y = vmap(f)(x)\nz = grad(g)(x)\n", 2) == TransformCall("g", "grad", "x")
    assert call_at("y = vmap(\n    f\n)(\n    x\n)\n", 3) == TransformCall("f", "vmap", "x")


def test_options_are_those_of_the_command() -> None:
    options = TransformCall("f", "vmap(grad)", "w, x", "(None, 0)", "1").options()
    assert options == (
        *("--function", "f", "--transform", "vmap(grad)", "--inputs", "w, x"),
        *("--in-dims", "(None, 0)", "--argnums", "1"),
    )

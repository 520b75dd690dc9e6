"""Operators as compositions of others: ``op:NAME`` takes the operator's own derivative rules out.

``norm`` is the root of the sum of squares plus a hair, so that it has the curvature at zero that the
composition ``norm(x) ** 2`` needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

HAIR = 1e-12  # added under the root: its own root, 1e-6, is below the tolerances that scripts compare with
EXPAND_UP_TO = 5  # rows; a determinant by expansion costs n! products


def cholesky_inverse(L: torch.Tensor, upper: bool = False, *, out: Any = None) -> torch.Tensor:
    factor = L.triu() if upper else L.tril()  # the operator reads no more of it
    return torch.linalg.inv(factor.mT @ factor if upper else factor @ factor.mT)


def det(A: torch.Tensor, *, out: Any = None) -> torch.Tensor:
    """By expansion along the first row: a polynomial, smooth at singular matrices too."""
    n = A.shape[-1]
    if n == 0:
        return A.new_ones(A.shape[:-2])
    if n == 1:
        return A[..., 0, 0]
    if n > EXPAND_UP_TO:
        factors, pivots = torch.linalg.lu_factor(A)
        swaps = (pivots != torch.arange(1, n + 1, device=A.device)).sum(-1)
        return factors.diagonal(dim1=-2, dim2=-1).prod(-1) * (1 - 2 * (swaps % 2))
    total = torch.zeros_like(A[..., 0, 0])
    for k in range(n):
        minor = torch.cat([A[..., 1:, :k], A[..., 1:, k + 1 :]], -1)
        total = total + (-1) ** k * A[..., 0, k] * det(minor)
    return total


def layer_norm(
    input: torch.Tensor,
    normalized_shape: Any,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
    *more: Any,
) -> torch.Tensor:
    rank = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    dims = tuple(range(-rank, 0))
    centred = input - input.mean(dims, keepdim=True)
    result = centred / (centred.square().mean(dims, keepdim=True) + eps).sqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


def _vector_norm(x: torch.Tensor, order: Any, dim: Any, keepdim: bool, dtype: Any) -> torch.Tensor:
    if dtype is not None:
        x = x.to(dtype)
    if dim is None:
        dim = tuple(range(x.dim()))
    size = (x * x.conj()).real if x.is_complex() else x * x
    if order is None or order == 2 or order == "fro":
        if not x.dim():
            return (size.reshape(1) + HAIR).sqrt().sum()
        # At the rank of x: torch 2.13 differentiates the root of a 0-d tensor forward to float64.
        root = (size.sum(dim, keepdim=True) + HAIR).sqrt()
        return root if keepdim else root.sum(dim)
    size = (size + HAIR).sqrt()
    if order == float("inf"):
        return size.amax(dim, keepdim=keepdim)
    if order == 1:
        return size.sum(dim, keepdim=keepdim)
    return (size**order).sum(dim, keepdim=keepdim) ** (1 / order)


def norm(
    A: torch.Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> torch.Tensor:
    """``torch.norm`` and ``Tensor.norm``."""
    return _vector_norm(A, p, dim, keepdim, dtype)


def linalg_norm(
    A: torch.Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Any = None, dtype: Any = None
) -> torch.Tensor:
    """``torch.linalg.norm`` for vectors and the Frobenius norm."""
    return _vector_norm(A, ord, dim, keepdim, dtype)


def vector_norm(
    x: torch.Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, out: Any = None, dtype: Any = None
) -> torch.Tensor:
    """``torch.linalg.vector_norm``."""
    return _vector_norm(x, ord, dim, keepdim, dtype)


class PlainContext:
    """Stands for a custom Function's ``ctx``: takes what is saved, marks nothing."""

    saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def mark_dirty(self, *tensors: Any) -> None: ...

    def mark_non_differentiable(self, *tensors: Any) -> None: ...

    def set_materialize_grads(self, value: bool) -> None: ...


def plain_apply(real: Callable[..., Any]) -> Any:
    """A ``Function.apply`` that is its forward, differentiated through; the library's own Functions keep ``real``."""

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls.__module__.partition(".")[0] in ("torch", "functorch"):
            return real.__func__(cls, *args, **kwargs)  # type: ignore[attr-defined]
        ctx = PlainContext()
        ctx.needs_input_grad = tuple(isinstance(a, torch.Tensor) for a in args)  # type: ignore[attr-defined]
        if cls.setup_context is torch.autograd.Function.setup_context:
            return cls.forward(ctx, *args, **kwargs)
        out = cls.forward(*args, **kwargs)
        cls.setup_context(ctx, args, out)
        return out

    return classmethod(apply)


def install(name: str) -> dict[str, Any]:
    """Patch the methods of ``op:name``; by dotted path, the functions to replace.

    Raises ``KeyError`` for an operator that has no composition here.
    """
    Tensor: Any = torch.Tensor
    if name == "function":
        Function: Any = torch.autograd.Function
        Function.apply = plain_apply(Function.apply)
        return {}
    if name == "cholesky_inverse":
        Tensor.cholesky_inverse = cholesky_inverse
        return {"torch.cholesky_inverse": cholesky_inverse}
    if name == "det":
        Tensor.det = det
        return {"torch.det": det, "torch.linalg.det": det}
    if name == "layer_norm":
        paths = ("torch.layer_norm", "torch.nn.functional.layer_norm")
        return dict.fromkeys(paths, layer_norm)
    if name == "norm":
        Tensor.norm = norm
        return {
            "torch.norm": norm,
            "torch.functional.norm": norm,
            "torch.linalg.norm": linalg_norm,
            "torch.linalg.vector_norm": vector_norm,
        }
    raise KeyError(f"op:{name}: no composition is known for this operator")

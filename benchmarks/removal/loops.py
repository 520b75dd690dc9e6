"""``vmap`` as a Python loop, and ``torch.compile`` as the identity."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten


def _in_dims(in_dims: Any, args: tuple[Any, ...], spec: Any) -> list[int | None]:
    flat = _broadcast_to_and_flatten(in_dims if isinstance(in_dims, int) else tuple(in_dims), spec)
    if flat is None:
        raise ValueError(f"in_dims {in_dims!r} do not fit the {len(args)} arguments")
    return list(flat)


def _join(rows: list[Any], dim: int | None) -> Any:
    if dim is None or all(r is None for r in rows):
        return rows[0]
    tensors = [r if isinstance(r, torch.Tensor) else torch.as_tensor(r) for r in rows]
    return torch.stack(tensors, dim)


def loop_vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """``vmap``: call once a slice and stack. An output that is a number counts as a tensor of no dimensions.

    An empty batch is run once on zeros, for the shapes. Keyword arguments are mapped over dimension 0, as in torch.
    """

    def looped(*args: Any, **kwargs: Any) -> Any:
        flat, spec = tree_flatten(args)
        flat_kw, spec_kw = tree_flatten(kwargs)
        dims = _in_dims(in_dims, args, spec) + [0 if isinstance(x, torch.Tensor) else None for x in flat_kw]
        values = flat + flat_kw
        sizes = {x.shape[d] for x, d in zip(values, dims) if d is not None and isinstance(x, torch.Tensor)}
        if len(sizes) != 1:
            raise ValueError(f"vmap: expected one batch size, got {sorted(sizes)}")
        size = sizes.pop()

        def call(i: int | None) -> Any:
            row = []
            for x, d in zip(values, dims):
                if d is None or not isinstance(x, torch.Tensor):
                    row.append(x)
                elif i is None:
                    row.append(torch.zeros_like(x.sum(d)) if x.dtype.is_floating_point else x.sum(d) * 0)
                else:
                    row.append(x.select(d, i))
            a = tree_unflatten(row[: len(flat)], spec)
            k = tree_unflatten(row[len(flat) :], spec_kw)
            return func(*a, **k)

        outs = [call(i) for i in range(size)] or [call(None)]
        flats = [tree_flatten(out) for out in outs]
        out_spec = flats[0][1]
        one = isinstance(out_dims, int) or out_dims is None
        flat_out_dims = _broadcast_to_and_flatten(out_dims if one else tuple(out_dims), out_spec)
        if flat_out_dims is None:
            flat_out_dims = [0] * len(flats[0][0])
        joined = [_join([f[0][k] for f in flats], d) for k, d in enumerate(flat_out_dims)]
        if size == 0:
            joined = [y if d is None else y.narrow(d, 0, 0) for y, d in zip(joined, flat_out_dims)]
        return tree_unflatten(joined, out_spec)

    return functools.wraps(func)(looped) if hasattr(func, "__name__") else looped


def as_it_is(model: Any = None, **options: Any) -> Any:
    """``torch.compile``: the identity, also as a decorator with options."""
    return model if model is not None else lambda f: f


def vmap_replacements() -> dict[str, Any]:
    """By dotted path: what the kind ``vmap`` replaces."""
    return {
        "torch.vmap": loop_vmap,
        "torch.func.vmap": loop_vmap,
        "functorch.vmap": loop_vmap,
        "torch._functorch.apis.vmap": loop_vmap,
        "torch._vmap_internals.vmap": loop_vmap,
        "torch._vmap_internals._vmap": lambda f, in_dims=0, out_dims=0, *a, **k: loop_vmap(f, in_dims, out_dims),
    }


def compile_replacements() -> dict[str, Any]:
    """By dotted path: what the kind ``compile`` replaces. ``Module.compile`` is patched beside it."""
    return {"torch.compile": as_it_is, "torch._dynamo.optimize": lambda *a, **k: lambda f: f}


def patch_module_compile() -> None:
    """``module.compile()`` does nothing."""
    torch.nn.Module.compile = lambda self, *a, **k: None

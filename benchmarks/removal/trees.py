"""Nested arguments and zeros of their shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["chosen", "leaves", "linked_zeros", "outer_zeros", "tree_flatten", "tree_map", "tree_unflatten", "zeros"]


def leaves(tree: Any) -> list[torch.Tensor]:
    """The tensors of a tree."""
    return [x for x in tree_flatten(tree)[0] if isinstance(x, torch.Tensor)]


def chosen(args: Sequence[Any], argnums: Any) -> Any:
    """The argument or the tuple of arguments that ``argnums`` names."""
    if isinstance(argnums, int):
        return args[argnums]
    return tuple(args[i] for i in argnums)


def linked_zeros(shape: Sequence[int], like: torch.Tensor, sources: Sequence[torch.Tensor]) -> torch.Tensor:
    """Zeros that require grad where a source does, so that a later ``backward`` still has a way to go.

    The link is the sum of no elements: exactly zero whatever the sources hold.
    """
    result = torch.zeros(tuple(shape), dtype=like.dtype, device=like.device)
    if torch.is_grad_enabled():
        for source in sources:
            if source.requires_grad and source.layout is torch.strided:
                result = result + source.reshape(-1)[:0].sum().to(result.dtype)
    return result


def zeros(tree: Any, sources: Sequence[torch.Tensor] = ()) -> Any:
    """The tree with zeros for its tensors."""
    return tree_map(lambda x: linked_zeros(x.shape, x, sources) if isinstance(x, torch.Tensor) else x, tree)


def outer_zeros(out: Any, *inputs: Any, sources: Sequence[torch.Tensor] = ()) -> Any:
    """A derivative's zeros: for each tensor of ``out`` the trees ``inputs``, nested, shapes appended."""

    def under(shape: tuple[int, ...], like: torch.Tensor, rest: Sequence[Any]) -> Any:
        if not rest:
            return linked_zeros(shape, like, sources)
        return tree_map(lambda x: under(shape + tuple(x.shape), like, rest[1:]), rest[0])

    return tree_map(lambda y: under(tuple(y.shape), y, inputs), out)


def split_aux(result: Any, has_aux: bool) -> tuple[Any, tuple[Any, ...]]:
    """(output, (aux,)) or (output, ())."""
    return (result[0], (result[1],)) if has_aux else (result, ())


def with_aux(result: Any, aux: tuple[Any, ...]) -> Any:
    """The result alone or with the aux behind it."""
    return (result, *aux) if aux else result


Function = Callable[..., Any]

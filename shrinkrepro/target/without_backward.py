"""Custom Functions that have no backward: their forward is differentiated through.

Decision: reverse mode stands for forward mode, and a Function may define only its jvp; what its forward computes is
then the reference for that too.
"""

from __future__ import annotations

from typing import Any, Sequence, Tuple

import torch


class _Context:
    """Stands for a Function's ``ctx``: takes what is saved and marks nothing."""

    saved_tensors: Tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    save_for_forward = save_for_backward

    def mark_dirty(self, *tensors: Any) -> None:
        return

    mark_non_differentiable = mark_dirty

    def set_materialize_grads(self, value: bool) -> None:
        return


def through_forward(cls: Any, args: Sequence[Any]) -> Any:
    """What the forward of a Function computes, to be differentiated through."""
    context = _Context()
    if cls.setup_context is torch.autograd.Function.setup_context:
        return cls.forward(context, *args)
    output = cls.forward(*args)
    cls.setup_context(context, tuple(args), output)
    return output


def apply_forward(original: Any) -> Any:
    """``Function.apply`` that differentiates through forward where the class has no backward."""
    base = torch.autograd.Function

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs or cls.backward is not base.backward or cls.vjp is not base.vjp:
            return original.__func__(cls, *args, **kwargs)
        return through_forward(cls, args)

    return classmethod(apply)

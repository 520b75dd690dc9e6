"""Custom Functions that have no backward: their forward is differentiated through.

Decision: reverse mode stands for forward mode, and a Function may define only its jvp; what its forward computes is
then the reference for that too.
"""

from __future__ import annotations

from typing import Any, Tuple

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


def apply_forward(original: Any) -> Any:
    """``Function.apply`` that differentiates through forward where the class has no backward."""
    base = torch.autograd.Function

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls.backward is not base.backward or cls.vjp is not base.vjp:
            return original.__func__(cls, *args, **kwargs)
        context = _Context()
        if cls.setup_context is base.setup_context:
            return cls.forward(context, *args, **kwargs)
        output = cls.forward(*args, **kwargs)
        cls.setup_context(context, args, output)
        return output

    return classmethod(apply)

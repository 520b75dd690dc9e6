"""torch.autograd.functional over any way to pull cotangents back and to push tangents forward.

Decision: only finite differences need it. For the other references torch's own functions are plain autograd already.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

import torch
from torch.utils._pytree import tree_map

from shrinkrepro.target.reverse import Reverse


class Functional:
    """The functions of the module, over a ``vjp`` and a push; options that only say how are taken and not needed."""

    def __init__(self, vjp: Callable[..., Any], pushed: Callable[..., Any]) -> None:
        self._vjp = vjp
        self._pushed = pushed
        self._jacrev = Reverse(vjp).jacrev

    def table(self) -> Dict[str, Any]:
        """Each function by its name."""
        return {name: getattr(self, name) for name in ("jacobian", "hessian", "vjp", "jvp", "vhp", "hvp")}

    def jacobian(self, func: Any, inputs: Any, *args: Any, **options: Any) -> Any:
        """The Jacobian: for a tuple of inputs or outputs a tuple."""
        return self._jacrev(func, _numbers(inputs))(*_tuple(inputs))

    def hessian(self, func: Any, inputs: Any, *args: Any, **options: Any) -> Any:
        """The Hessian of a scalar function."""
        numbers = _numbers(inputs)
        return self._jacrev(self._jacrev(func, numbers), numbers)(*_tuple(inputs))

    def vjp(self, func: Any, inputs: Any, v: Any = None, *args: Any, **options: Any) -> Any:
        """The output, and what ``v`` is pulled back to."""
        output, pullback = self._vjp(func, *_tuple(inputs))
        pulled = pullback(_ones_like(output) if v is None else v)
        return output, pulled if isinstance(inputs, tuple) else pulled[0]

    def jvp(self, func: Any, inputs: Any, v: Any = None, *args: Any, **options: Any) -> Any:
        """The output, and what ``v`` is pushed to."""
        output, push = self._pushed(func, _tuple(inputs), False)
        return output, push(*_tuple(_ones_like(inputs) if v is None else v))

    def vhp(self, func: Any, inputs: Any, v: Any = None, *args: Any, **options: Any) -> Any:
        """The output, and the Hessian times ``v``."""
        numbers = tuple(range(len(_tuple(inputs))))
        _, push = self._pushed(self._jacrev(func, numbers), _tuple(inputs), False)
        pushed = push(*_tuple(_ones_like(inputs) if v is None else v))
        return func(*_tuple(inputs)), pushed if isinstance(inputs, tuple) else pushed[0]

    hvp = vhp  # a Hessian is symmetric


def _numbers(inputs: Any) -> Any:
    return tuple(range(len(inputs))) if isinstance(inputs, tuple) else 0


def _tuple(value: Any) -> Tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _ones_like(tree: Any) -> Any:
    return tree_map(torch.ones_like, tree)

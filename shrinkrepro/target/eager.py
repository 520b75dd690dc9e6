"""Control-flow operators run eagerly: loops and branches in Python, for observation only.

Decision: ``cond``, ``while_loop`` and ``scan`` trace the functions that they are given, so nothing inside could
be observed; the primal control proper keeps the real ones, because they may be what fails.
"""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = (), **options: Any
) -> Any:
    """torch.cond: the branch that is taken."""
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any, *args: Any) -> Any:
    """while_loop: a Python loop."""
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        result = body_fn(*carried)
        carried = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return carried


def scan(
    combine_fn: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False, **options: Any
) -> Any:
    """scan: a Python loop along ``dim``, and stack."""
    length = tree_flatten(xs)[0][0].shape[dim]
    carry, outputs = init, []
    for i in range(length - 1, -1, -1) if reverse else range(length):
        carry, out = combine_fn(carry, tree_map(lambda x, i=i: x.select(dim, i), xs))
        outputs.append(out)
    if reverse:
        outputs.reverse()
    spec = tree_flatten(outputs[0])[1]
    columns = zip(*(tree_flatten(out)[0] for out in outputs))
    return carry, tree_unflatten([torch.stack(list(column), dim) for column in columns], spec)


# (module, name of the function, stand-in)
STAND_INS: List[Tuple[str, str, Callable[..., Any]]] = [
    ("torch._higher_order_ops.cond", "cond", cond),
    ("torch._higher_order_ops.while_loop", "while_loop", while_loop),
    ("torch._higher_order_ops.scan", "scan", scan),
]

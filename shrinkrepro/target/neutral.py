"""Operators made neutral: in the place of one operator a plain sum of its inputs, to see whether a failure needs it.

Decision: a script that compares two ways to the same numbers still gets equal numbers from both when an operator is
exchanged in both; so if it then passes, the two ways differed by this operator. Only what runs on lines that a
transform reached is exchanged, the check itself never is.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional, Set, Tuple

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_flatten, tree_unflatten

DERIVATIVE = "derivative"  # as the kind: values stay, only how they are differentiated is plain

_LEFT = ("torch.autograd", "torch.testing", "torch.func", "torch._", "torch.Tensor.__set", "torch.Tensor.__i",
         "torch.Tensor.backward", "torch.Tensor.detach", "torch.detach", "torch.Tensor.requires_grad")  # fmt: skip
_MACHINERY = ("/torch/_functorch/", "/torch/autograd/", "/torch/func/", "/torch/testing/")

_current: Optional["Neutral"] = None


class Neutral(TorchFunctionMode):  # type: ignore[misc]
    """Notes the operators under transforms, and makes those of ``names`` neutral. ``path`` is the program's file."""

    def __init__(self, path: str, names: Set[str], kind: str) -> None:
        super().__init__()
        self._path = path
        self._names = names
        self._kind = kind
        self.seen: Dict[str, Set[int]] = {}  # operator -> lines of the program, under a transform
        self.recorded: Dict[str, Set[int]] = {}  # the same, where only autograd records
        self.lines: Optional[Set[int]] = None  # where operators are made neutral; None: where a transform is

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = resolve_name(func) or ""
        if not _may_be_neutral(name, kwargs):
            return result
        outputs, spec = tree_flatten(result)
        inputs = [x for x in tree_flatten((args, kwargs))[0] if _is_real(x)]
        if not inputs or not any(map(_is_real, outputs)):
            return result
        line = self._line(func)
        if line is None:
            return result
        if _transformed():
            self.seen.setdefault(name, set()).add(line)
        elif torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
            self.recorded.setdefault(name, set()).add(line)
        if name not in self._names or (self.lines is not None and line not in self.lines):
            return result
        return tree_unflatten([self._plain(out, inputs) if _is_real(out) else out for out in outputs], spec)

    def _line(self, func: Any) -> Optional[int]:
        """The innermost line of the program that is running; None when a transform calls ``func`` for its own ends."""
        frame: Any = sys._getframe(2)
        given = False
        while frame is not None:
            file = frame.f_code.co_filename
            if file == self._path:
                return int(frame.f_lineno)
            if not given and any(part in file for part in _MACHINERY):
                if frame.f_locals.get("func") is not func:
                    return None
                given = True  # the program gave it the operator itself: vmap(torch.sin)
            frame = frame.f_back
        return None

    def _plain(self, out: Any, inputs: List[Any]) -> Any:
        total = _sum_of(out, inputs)
        return out.detach() + (total - total.detach()) if self._kind == DERIVATIVE else total


def _may_be_neutral(name: str, kwargs: Dict[str, Any]) -> bool:
    if not name or name.startswith(_LEFT) or name.endswith(".__get__") or kwargs.get("out") is not None:
        return False
    last = name.rpartition(".")[2]
    return not last.endswith("_") or last.endswith("__")  # what works in place has no result of its own


def _is_real(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point() and x.layout == torch.strided


def _transformed() -> bool:
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return True
    return bool(torch.autograd.forward_ad._current_level >= 0)


def _sum_of(out: Any, inputs: List[Any]) -> Any:
    """Of the shape of ``out`` and the inputs' dtype: their sum, each with a factor, each element with a weight."""
    dtype = inputs[0].dtype  # not that of ``out``, which may be what is wrong
    for x in inputs[1:]:
        dtype = torch.promote_types(dtype, x.dtype)
    total = torch.zeros(out.shape, dtype=dtype, device=out.device)
    for number, x in enumerate(inputs):
        x = x.to(dtype)
        if x.shape == out.shape:
            total = total + (0.7 + 0.2 * number) * x
        elif x.numel():
            weights = torch.arange(1, x.numel() + 1, dtype=dtype, device=out.device).sin()
            total = total + (0.5 + 0.1 * number) * (x.reshape(-1) * weights).sum()
    return total


def install(asked: str, path: str) -> None:
    """Begin. ``asked``: ``KIND;LINE,LINE;NAME,NAME``, all three may be empty; no lines mean every one."""
    global _current
    kind, lines, names = asked.split(";")
    _current = Neutral(path, {name for name in names.split(",") if name}, kind)
    if lines:
        _current.lines = {int(line) for line in lines.split(",")}
    _current.__enter__()


def findings() -> Tuple[Dict[str, Any], ...]:
    """The operators that transforms reached, each with the program's lines that call it."""
    if _current is None:
        return ()
    found = _current.seen or _current.recorded  # a check may compare what autograd records, too
    return tuple({"operator": name, "lines": sorted(lines)} for name, lines in found.items())
